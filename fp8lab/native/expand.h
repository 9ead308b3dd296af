// Many codes at once: a block of codes to float32 numbers.
//
// An 8-bit code has 256 values, each of which bfloat16 holds exactly (8 significant bits, the range of float32): two
// tables of bytes. AVX-512 VBMI looks 64 codes up in a table that lies in registers, which takes less than half of the
// time that the arithmetic of `decoded` does. Other processors do the arithmetic.

#pragma once

#include "blocks.h"
#include "numbers.h"

namespace {

#if defined(__AVX512VBMI__) && defined(__AVX512BW__)
#define LOOKS_UP 1
constexpr int64_t CODES = 64;  // in a register

struct Tables {
    alignas(64) uint8_t low[256], high[256];  // the bytes of the bfloat16, by code
    // Interleaving stays within quarters of a register: codes are put where their values then come out in order.
    alignas(64) uint8_t order[CODES];
    Tables() {
        const Subnormals counted;
        for (int32_t code = 0; code < 256; code++) {
            const int32_t bits = bits_of(decoded(code));
            low[code] = uint8_t(bits >> 16);
            high[code] = uint8_t(bits >> 24);
        }
        for (int i = 0; i < CODES; i++) order[i] = uint8_t(i / 4 % 4 * 16 + i / 16 * 4 + i % 4);
    }
};
const Tables TABLES;

// The entries of a table of 256 for 64 codes: an instruction looks at the low 7 bits, the highest one says which half.
inline __m512i look_up(const uint8_t* table, __m512i codes) {
    const auto half = [codes](const uint8_t* from) {
        return _mm512_permutex2var_epi8(_mm512_load_si512(from), codes, _mm512_load_si512(from + CODES));
    };
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), half(table), half(table + 2 * CODES));
}

// 64 values, 16 at a time: write(where, 16 of them).
template <class Write> inline void expand_register(const uint8_t* codes, const Write& write) {
    const __m512i ordered = _mm512_permutexvar_epi8(_mm512_load_si512(TABLES.order), _mm512_loadu_si512(codes));
    const __m512i low = look_up(TABLES.low, ordered), high = look_up(TABLES.high, ordered);
    const __m512i first = _mm512_unpacklo_epi8(low, high), second = _mm512_unpackhi_epi8(low, high);
    const __m512i zero = _mm512_setzero_si512();
    write(0, _mm512_castsi512_ps(_mm512_unpacklo_epi16(zero, first)));
    write(16, _mm512_castsi512_ps(_mm512_unpackhi_epi16(zero, first)));
    write(32, _mm512_castsi512_ps(_mm512_unpacklo_epi16(zero, second)));
    write(48, _mm512_castsi512_ps(_mm512_unpackhi_epi16(zero, second)));
}

inline void expand(const uint8_t* codes, float* values, int64_t count) {
    int64_t at = 0;
    for (; at + CODES <= count; at += CODES)
        expand_register(codes + at, [&](int64_t i, __m512 part) { _mm512_storeu_ps(values + at + i, part); });
    for (; at < count; at++) values[at] = decoded(codes[at]);
}

// Codes times one scale, from registers past the caches: `to` is aligned to 64 bytes, `count` a multiple of 64.
inline void send_scaled(const uint8_t* codes, float scale, float* to, int64_t count) {
    const __m512 scales = _mm512_set1_ps(scale);
    for (int64_t at = 0; at < count; at += CODES)
        expand_register(codes + at, [&](int64_t i, __m512 part) {
            _mm512_stream_ps(to + at + i, _mm512_mul_ps(part, scales));
        });
}

#else

inline void expand(const uint8_t* codes, float* values, int64_t count) {
    each(codes, values, count, [](int32_t code) { return decoded(code); });
}

#endif

}  // namespace
