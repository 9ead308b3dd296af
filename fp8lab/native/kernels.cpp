// The codec and grouped quantization as plain loops: `fp8lab.rounding` and `fp8lab.scales` in C++, bit for bit.
//
// numbers.h has one value, expand.h a block of codes, blocks.h how loops run over many blocks; here are groups that
// share a scale, and what Python calls.

#include "blocks.h"
#include "expand.h"
#include "numbers.h"

#include <algorithm>
#include <type_traits>

namespace {

// ---- groups: `size` values that share a scale, the last one of each row of `width` values perhaps shorter

struct Layout {
    int64_t rows, width, size;
    int64_t per_row = (width + size - 1) / size;
};

// Group after group, where each begins and how long it is; without a division, which takes as long as ten values.
class Walk {
    const Layout& all;
    int64_t left;  // values from here to the end of the row
public:
    int64_t group, start;
    Walk(const Layout& layout, int64_t first) : all(layout), group(first) {
        const int64_t before = first % all.per_row * all.size;
        start = first / all.per_row * all.width + before;
        left = all.width - before;
    }
    int64_t length() const { return least(all.size, left); }
    void next() {
        const int64_t values = length();
        start += values;
        left = left == values ? all.width : left - values;
        group++;
    }
};

// to[i] = number_of(i), and up to VECTOR - 1 values more: whole registers, without a loop for what is left over.
template <class To, class Number> inline void fill(To* to, int64_t count, const Number number_of) {
    for (int64_t at = 0; at < count; at += VECTOR)
        for (int64_t i = at; i < at + VECTOR; i++) to[i] = number_of(i);
}

// The groups from `begin` to `end`, a block at a time. scale_of(group, its first value, its length) is asked once for
// each group. Of every block, `work` is told where it begins, then of each part of a group the scale, then the end.
template <class From, class To, class Scale, class Work>
void scaled(const From* from, To* to, const Layout& layout, int64_t begin, int64_t end, const Scale& scale_of,
            Work&& work) {
    Walk next(layout, begin);
    Stream<To> out(to + next.start);
    const int64_t stop = Walk(layout, end).start;
    float scale = 1.0f;  // of the group before `next`
    for (int64_t at = next.start; at < stop;) {
        const int64_t values = least(Stream<To>::BLOCK, stop - at);
        int64_t known = least(values, next.start - at);
        work.begin(from + at, values);
        work.group(0, known, scale, out.next());
        while (known < values) {
            scale = scale_of(next.group, from + next.start, next.length());
            const int64_t here = least(next.length(), values - known);
            work.group(known, here, scale, out.next());
            known += here;
            next.next();
        }
        work.end(from + at, out.next(), values);
        out.wrote(values);
        at += values;
    }
}

// Floats to codes. A row holds the scale of every value, so that the loop over a block knows nothing of groups.
template <class From> struct Quantizing {
    alignas(64) float scales[Stream<uint8_t>::BLOCK + VECTOR];
    void begin(const From*, int64_t) {}
    void group(int64_t at, int64_t count, float scale, uint8_t*) {
        fill(scales + at, count, [scale](int64_t) { return scale; });
    }
    void end(const From* from, uint8_t* to, int64_t count) {
        fetch(from, count);
        each(from, scales, to, count, [](From value, float scale) { return encoded(widened(value) / scale); });
    }
};

// Codes to values, all of a block at once; then each group times its scale.
template <class To> struct Restoring {
    alignas(64) float values[Stream<To>::BLOCK + VECTOR] = {};
    void begin(const uint8_t* codes, int64_t count) {
        fetch(codes, count);
        expand(codes, values, count);
    }
    void group(int64_t at, int64_t count, float scale, To* to) {
        const float* from = values + at;
        fill(to + at, count, [from, scale](int64_t i) { return narrowed<To>(from[i] * scale); });
    }
    void end(const uint8_t*, To*, int64_t) {}
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

// As bits: magnitudes order like integers, infinity and NaN on top. 64 values at a time, which the compiler unrolls.
template <class From> inline int32_t absmax_of(const From* source, int64_t length) {
    const auto largest = [source](int64_t from, int64_t to) {
        int32_t absmax = 0;
        for (int64_t i = from; i < to; i++) absmax = larger(absmax, bits_of(widened(source[i])) & MAGNITUDE);
        return absmax;
    };
    constexpr int64_t PART = 64;
    int32_t absmax = 0;
    int64_t at = 0;
    for (; at + PART <= length; at += PART) {
        if (length > UNIT) fetch(source + at, PART);
        absmax = larger(absmax, largest(at, at + PART));
    }
    return larger(absmax, largest(at, length));
}

template <class From>
int quantize_groups(const From* x, uint8_t* codes, void* kept, const Layout& layout, float qmax, float largest,
                    int storage, int threads) {
    int lost = 0;  // set by any thread, read after all of them
    shared(layout.rows * layout.per_row, 1, layout.rows * layout.width, threads, [&](int64_t begin, int64_t end) {
        const auto scale_of = [&](int64_t group, const From* source, int64_t length) {
            const int32_t absmax = absmax_of(source, length);
            if (absmax >= INF) {
#pragma omp atomic write
                lost = 1;
            }
            return store_scale(absmax == 0 ? 1.0f : float_of(absmax) / qmax, largest, storage, kept, group);
        };
        scaled(x, codes, layout, begin, end, scale_of, Quantizing<From>());
    });
    return lost;
}

#if LOOKS_UP
// Groups of whole registers into aligned memory, the most common ones by far: no block is needed in between.
bool whole_registers(const float* to, const Layout& layout) {
    return layout.size % CODES == 0 && layout.width % CODES == 0 && reinterpret_cast<intptr_t>(to) % 64 == 0;
}

void send_groups(const uint8_t* codes, const float* scales, float* to, const Layout& layout, int64_t begin,
                 int64_t end) {
    for (Walk next(layout, begin); next.group < end; next.next()) {
        fetch(codes + next.start, next.length());
        send_scaled(codes + next.start, scales[next.group], to + next.start, next.length());
    }
    arrive();
}
#endif

template <class To>
void dequantize_groups(const uint8_t* codes, const float* scales, To* values, const Layout& layout, int threads) {
    shared(layout.rows * layout.per_row, 1, layout.rows * layout.width, threads, [&](int64_t begin, int64_t end) {
#if LOOKS_UP
        if constexpr (std::is_same_v<To, float>)
            if (whole_registers(values, layout)) return send_groups(codes, scales, values, layout, begin, end);
#endif
        const auto scale_of = [scales](int64_t group, const uint8_t*, int64_t) { return scales[group]; };
        scaled(codes, values, layout, begin, end, scale_of, Restoring<To>());
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
        map(from, codes, count, threads, [](auto* block, uint8_t* to, int64_t values) {
            each(block, to, values, [](auto value) { return encoded(widened(value)); });
        });
    });
}

void decode(const uint8_t* codes, float* values, int64_t count, int threads) {
    map(codes, values, count, threads, expand);
}

// 1 when a group holds NaN or infinity, and nothing of use is written.
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
