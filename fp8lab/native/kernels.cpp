// The codec and grouped quantization as plain loops: `fp8lab.rounding` and `fp8lab.scales` in C++, bit for bit.
//
// Every loop works on one block that stays in the first-level cache, so that the compiler can turn it into vector
// instructions; a finished block is then sent past the caches to memory ("streaming" stores). An ordinary store reads
// a line of memory before it writes it, which costs as much again as the writing.
//
// Only +, *, / and conversions of float32 are used, each of which IEEE 754 rounds once; built without -ffast-math and
// without contraction. Subnormals count as what they are, whatever torch.set_flush_denormal says. `build.py` compiles
// this file once for each element format and overflow policy, so that their numbers are constants.

#include <cfenv>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

constexpr int64_t BLOCK = 256;             // values worked on at a time
constexpr int64_t AHEAD = 8192;            // bytes of input fetched in advance; the hardware stops at the end of a page
constexpr int64_t SHARE = 1 << 16;         // values below which one more thread is not worth waking
constexpr int32_t INF = 0x7F800000, NOT_A_NUMBER = 0x7FC00000, MAGNITUDE = 0x7FFFFFFF;

inline int32_t bits_of(float x) { int32_t bits; std::memcpy(&bits, &x, 4); return bits; }
inline float float_of(int32_t bits) { float x; std::memcpy(&x, &bits, 4); return x; }
inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

// A format as the numbers that its arithmetic needs. The one that this library is built for is ELEMENT: `build.py`
// defines FORMAT, its fields in this order, or INTEGER, the largest of whole numbers from -INTEGER to INTEGER.
struct Format {
    int32_t shift;        // 23 - mantissa bits
    int32_t rebias;       // (127 - bias) << 23: the float32 bits of a normal code are (code << shift) + rebias
    int32_t low_bits;     // room for every code, and for the one beyond the last
    int32_t largest;      // a code beyond this one overflows,
    int32_t overflow;     // and becomes this one
    int32_t nan;          // the code that NaN becomes
    int32_t sign_shift;   // 32 - bits
    int32_t sign_mask;
    int32_t size_mask;    // exponent and mantissa
    int32_t last_low;     // codes up to this one are subnormal: their number times `smallest`, or `low_pattern`
    float smallest;
    int32_t low_pattern;
    int32_t inf_size;     // the code of infinity without its sign, -1 where there is none
    int32_t nan_size;     // from here on a code without its sign is NaN; beyond every code where there is none
    bool one_nan;         // fnuz: the code of -0 is the only NaN
};

// ---- one value: float32 <-> code

// See fp8lab.rounding.encode_nearest: adding `magic` pushes the bits below the spacing out of the float32, which rounds
// them, once and to nearest even; the low bits of the sum count the steps.
template <const Format& f> inline int32_t nearest(float x) {
    constexpr bool saturates = f.overflow == f.largest;
    constexpr int32_t last = ((saturates ? f.largest : f.largest + 1) << f.shift) + f.rebias;
    constexpr int32_t least = (1 << 23) + f.rebias, start = -(least >> f.shift) & f.low_bits;
    const int32_t bits = bits_of(x), all = bits & MAGNITUDE, size = smaller(all, last);
    const int32_t binade = larger(size, least) & INF, magic = binade + ((f.shift << 23) + start);
    int32_t code = bits_of(float_of(size) + float_of(magic)) + (binade >> f.shift);
    if (!saturates || f.one_nan) code &= f.low_bits;  // else the bits above go when the code becomes a byte
    if (!saturates) code = code > f.largest ? f.overflow : code;
    code = all > INF ? f.nan : code;
    const int32_t sign = (bits >> f.sign_shift) & f.sign_mask;
    return f.one_nan && (code == 0 || all > INF) ? code : code | sign;
}

// See fp8lab.rounding.decode_bits.
template <const Format& f> inline float value(int32_t code) {
    const int32_t size = code & f.size_mask, sign = (code & f.sign_mask) << f.sign_shift;
    int32_t bits = (size << f.shift) + f.rebias;
    bits = size <= f.last_low ? bits_of(float(size) * f.smallest) | f.low_pattern : bits;
    bits = size == f.inf_size ? INF : bits;
    bits = size >= f.nan_size ? NOT_A_NUMBER : bits;
    return float_of(f.one_nan && code == f.sign_mask ? NOT_A_NUMBER : bits | sign);
}

#ifdef INTEGER
// Whole numbers in two's complement: the same trick with one magic number, 1.5 x 2^23, whose low bits are zero.
inline int32_t encoded(float x) {
    x = x > INTEGER ? INTEGER : x;
    return bits_of((x < -INTEGER ? -INTEGER : x) + 12582912.0f);
}
inline float decoded(int32_t code) { return float(int8_t(code)); }
#else
constexpr Format ELEMENT = {FORMAT};
inline int32_t encoded(float x) { return nearest<ELEMENT>(x); }
inline float decoded(int32_t code) { return value<ELEMENT>(code); }
#endif

// ---- one value: float32 <-> what tensors hold

struct Half { uint16_t bits; };
struct Brain { uint16_t bits; };
constexpr Format HALF = {13, 112 << 23, 0x1FFFF, 0x7BFF, 0x7C00, 0x7E00, 16, 0x8000, 0x7FFF, 0x3FF, 0x1p-24f, 0,
                         0x7C00, 0x7C01, false};

inline float widened(float x) { return x; }
inline float widened(double x) { return float(x); }
inline float widened(Brain x) { return float_of(int32_t(uint32_t(x.bits) << 16)); }
inline float widened(Half x) { return value<HALF>(x.bits); }

template <class To> inline To narrowed(float x);
template <> inline float narrowed<float>(float x) { return x; }
template <> inline double narrowed<double>(float x) { return x; }
template <> inline Half narrowed<Half>(float x) { return {uint16_t(nearest<HALF>(x))}; }
template <> inline Brain narrowed<Brain>(float x) {
    const int32_t bits = bits_of(x), rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    return {uint16_t((bits & MAGNITUDE) > INF ? NOT_A_NUMBER >> 16 : rounded >> 16)};
}

// ---- blocks

class Subnormals {  // counts them as what they are while it lives
    std::fenv_t kept;
public:
    Subnormals() { std::fegetenv(&kept); std::fesetenv(FE_DFL_ENV); }
    ~Subnormals() { std::fesetenv(&kept); }
};

// Bytes from a block to memory, past the caches where the processor can; `arrive` before anybody else reads them.
void send(void* to, const void* from, int64_t bytes) {
#if defined(__SSE2__)
    char* out = static_cast<char*>(to);
    const char* in = static_cast<const char*>(from);
    const int64_t first = -reinterpret_cast<intptr_t>(out) & 63, head = first < bytes ? first : bytes;
    std::memcpy(out, in, head);
    for (out += head, in += head, bytes -= head; bytes >= 64; out += 64, in += 64, bytes -= 64)
        for (int part = 0; part < 64; part += 16)
            _mm_stream_si128(reinterpret_cast<__m128i*>(out + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + part)));
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
    alignas(64) T block[BLOCK];
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

template <class From, class To, class Function>
void map(const From* from, To* to, int64_t count, int threads, const Function& function) {
    shared(count, BLOCK, count, threads, [&](int64_t begin, int64_t end) {
        Stream<To> out(to + begin);
        for (int64_t at = begin; at < end;) {
            const int64_t values = least(out.room(), end - at);
            fetch(from + at, values);
            each(from + at, out.next(), values, function);
            out.wrote(values);
            at += values;
        }
    });
}

// ---- groups: `size` values that share a scale, the last one of each row of `width` values perhaps shorter

struct Layout {
    int64_t rows, width, size;
    int64_t per_row() const { return (width + size - 1) / size; }
    int64_t start(int64_t group) const { return group / per_row() * width + group % per_row() * size; }
    int64_t length(int64_t group) const { return least(size, width - group % per_row() * size); }
};

enum Storage { FLOAT32, BFLOAT16, POWER };

// fp8lab.scales.store: floored, capped, then rounded to what is kept. Returns the scale that was kept.
inline float store_scale(float scale, float largest, int storage, void* kept, int64_t group) {
    scale = scale < 0x1p-126f ? 0x1p-126f : scale > largest ? largest : scale;
    if (storage == FLOAT32) {
        static_cast<float*>(kept)[group] = scale;
    } else if (storage == BFLOAT16) {
        const Brain brain = narrowed<Brain>(scale);
        static_cast<Brain*>(kept)[group] = brain;
        scale = widened(brain);
    } else {
        const int32_t bits = bits_of(scale), code = (bits >> 23) + ((bits & 0x7FFFFF) != 0);
        static_cast<uint8_t*>(kept)[group] = uint8_t(code);
        scale = float_of(code << 23);
    }
    return scale;
}

template <class From>
int quantize_groups(const From* x, uint8_t* codes, void* kept, const Layout& layout, float qmax, float largest, int storage,
             int threads) {
    int lost = 0;  // set by any thread, read after all of them
    shared(layout.rows * layout.per_row(), 1, layout.rows * layout.width, threads, [&](int64_t begin, int64_t end) {
        Stream<uint8_t> out(codes + layout.start(begin));
        for (int64_t group = begin; group < end; group++) {
            const int64_t length = layout.length(group);
            const From* source = x + layout.start(group);
            fetch(source, length);
            int32_t absmax = 0;  // magnitudes order like integers, infinity and NaN on top
            for (int64_t i = 0; i < length; i++) absmax = larger(absmax, bits_of(widened(source[i])) & MAGNITUDE);
            if (absmax >= INF) {
#pragma omp atomic write
                lost = 1;
                return;
            }
            const float wanted = absmax == 0 ? 1.0f : float_of(absmax) / qmax;
            const float scale = store_scale(wanted, largest, storage, kept, group);
            for (int64_t at = 0; at < length;) {
                const int64_t values = least(out.room(), length - at);
                each(source + at, out.next(), values,
                     [scale](From value) { return encoded(widened(value) / scale); });
                out.wrote(values);
                at += values;
            }
        }
    });
    return lost;
}

template <class To>
void dequantize_groups(const uint8_t* codes, const float* scales, To* values_out, const Layout& layout, int threads) {
    shared(layout.rows * layout.per_row(), 1, layout.rows * layout.width, threads, [&](int64_t begin, int64_t end) {
        Stream<To> out(values_out + layout.start(begin));
        for (int64_t group = begin; group < end; group++) {
            const int64_t length = layout.length(group);
            const uint8_t* source = codes + layout.start(group);
            const float scale = scales[group];
            fetch(source, length);
            for (int64_t at = 0; at < length;) {
                const int64_t values = least(out.room(), length - at);
                each(source + at, out.next(), values,
                     [scale](int32_t code) { return narrowed<To>(decoded(code) * scale); });
                out.wrote(values);
                at += values;
            }
        }
    });
}

// ---- which of them: dtype and format become types

enum Dtype { F32, BF16, F16, F64 };

template <class T> const T* as(const void* memory) { return static_cast<const T*>(memory); }
template <class T> T* as(void* memory) { return static_cast<T*>(memory); }

template <class Memory, class Call> void with_dtype(int dtype, Memory* memory, const Call& call) {
    if (dtype == F32) call(as<float>(memory));
    else if (dtype == BF16) call(as<Brain>(memory));
    else if (dtype == F16) call(as<Half>(memory));
    else call(as<double>(memory));
}

}  // namespace

// Every tensor is contiguous; scales are [rows, groups per row].
extern "C" {

void encode(const void* x, int dtype, uint8_t* codes, int64_t count, int threads) {
    with_dtype(dtype, x, [&](auto* from) {
        map(from, codes, count, threads, [](auto value) { return encoded(widened(value)); });
    });
}

void decode(const uint8_t* codes, float* values, int64_t count, int threads) {
    map(codes, values, count, threads, [](int32_t code) { return decoded(code); });
}

// 1 when a group holds NaN or infinity, with the work unfinished.
int quantize(const void* x, int dtype, uint8_t* codes, void* kept, int64_t rows, int64_t width, int64_t size,
             float qmax, float largest, int storage, int threads) {
    int lost = 0;
    with_dtype(dtype, x, [&](auto* from) {
        lost = quantize_groups(from, codes, kept, Layout{rows, width, size}, qmax, largest, storage, threads);
    });
    return lost;
}

void dequantize(const uint8_t* codes, const float* scales, void* values, int dtype, int64_t rows, int64_t width,
                int64_t size, int threads) {
    with_dtype(dtype, values, [&](auto* to) {
        dequantize_groups(codes, scales, to, Layout{rows, width, size}, threads);
    });
}

}  // extern "C"
