// How loops run over much memory: in blocks, past the caches, on several threads.
//
// Every loop works on one block that stays in the first-level cache, so that the compiler can turn it into vector
// instructions; a finished block is then sent past the caches to memory ("streaming" stores). An ordinary store reads
// a line of memory before it writes it, which costs as much again as the writing.

#pragma once

#include <cfenv>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

constexpr int64_t VECTOR = 16;             // values that may be written beyond the end of a block: a whole register
constexpr int64_t UNIT = 512;              // values of which every thread but the last gets a multiple
constexpr int64_t AHEAD = 4096;            // bytes of input fetched in advance; the hardware stops at the end of a page
constexpr int64_t SHARE = 1 << 16;         // values below which one more thread is not worth waking

class Subnormals {  // counts them as what they are while it lives
    std::fenv_t kept;
public:
    Subnormals() { std::fegetenv(&kept); std::fesetenv(FE_DFL_ENV); }
    ~Subnormals() { std::fesetenv(&kept); }
};

#if defined(__SSE2__)
// A line of memory, 64 bytes, in as few stores as the processor has.
inline void send_line(char* to, const char* from) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#else
    for (int part = 0; part < 64; part += 16)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + part),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + part)));
#endif
}
#endif

// Bytes from a block to memory, past the caches where the processor can; `arrive` before anybody else reads them.
void send(void* to, const void* from, int64_t bytes) {
#if defined(__SSE2__)
    char* out = static_cast<char*>(to);
    const char* in = static_cast<const char*>(from);
    const int64_t first = -reinterpret_cast<intptr_t>(out) & 63, head = first < bytes ? first : bytes;
    std::memcpy(out, in, head);
    for (out += head, in += head, bytes -= head; bytes >= 64; out += 64, in += 64, bytes -= 64)
        send_line(out, in);
    std::memcpy(out, in, bytes);
#else
    std::memcpy(to, from, bytes);
#endif
}

inline void arrive() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

template <class T> inline void fetch(const T* from, int64_t values) {
    const char* begin = reinterpret_cast<const char*>(from) + AHEAD;
    for (int64_t byte = 0; byte < values * int64_t(sizeof(T)); byte += 64) __builtin_prefetch(begin + byte);
}

// Values that are written one after the other: collected in a block, sent when it is full.
template <class T> class Stream {
public:
    static constexpr int64_t BLOCK = sizeof(T) == 1 ? UNIT : UNIT / 2;  // the fastest that was measured
private:
    alignas(64) T block[BLOCK + VECTOR];
    T* to;
    int64_t filled = 0;
public:
    explicit Stream(T* target) : to(target) {}
    ~Stream() { flush(); arrive(); }
    int64_t room() const { return BLOCK - filled; }
    T* next() { return block + filled; }
    void flush() { send(to, block, filled * sizeof(T)); to += filled; filled = 0; }
    void wrote(int64_t values) { filled += values; if (filled == BLOCK) flush(); }
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The loop that the compiler vectorises: `function` by value, its numbers in registers, memory that does not overlap.
template <class From, class To, class Function>
inline void each(const From* __restrict from, To* __restrict to, int64_t count, const Function function) {
    for (int64_t i = 0; i < count; i++) to[i] = To(function(from[i]));
}

// The same with a scale for every value.
template <class From, class To, class Function>
inline void each(const From* __restrict from, const float* __restrict scales, To* __restrict to, int64_t count,
                 const Function function) {
    for (int64_t i = 0; i < count; i++) to[i] = To(function(from[i], scales[i]));
}

// work(begin, end) on parts of 0..count, each a multiple of `unit` but the last, on up to `threads` threads.
template <class Work> void shared(int64_t count, int64_t unit, int64_t values, int threads, const Work& work) {
    const int64_t parts = least(threads, 1 + values / SHARE), units = (count + unit - 1) / unit;
#pragma omp parallel for num_threads(int(parts)) schedule(static, 1) if (parts > 1)
    for (int64_t part = 0; part < parts; part++) {
        const Subnormals counted;
        const int64_t begin = units * part / parts * unit, end = least(units * (part + 1) / parts * unit, count);
        if (begin < end) work(begin, end);
    }
}

// convert(from, to, count) on one block after the other.
template <class From, class To, class Convert>
void map(const From* from, To* to, int64_t count, int threads, const Convert& convert) {
    shared(count, UNIT, count, threads, [&](int64_t begin, int64_t end) {
        Stream<To> out(to + begin);
        for (int64_t at = begin; at < end;) {
            const int64_t values = least(out.room(), end - at);
            fetch(from + at, values);
            convert(from + at, out.next(), values);
            out.wrote(values);
            at += values;
        }
    });
}

}  // namespace
