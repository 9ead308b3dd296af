// One value at a time: float32 to a code and back, and float32 to what tensors hold.
//
// Only +, *, / and conversions of float32 are used, each of which IEEE 754 rounds once; built without -ffast-math and
// without contraction. `build.py` compiles for each element format and overflow policy, so that these are constants.

#pragma once

#include <cstdint>
#include <cstring>

namespace {

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

}  // namespace
