/* Days and dates of the Gregorian calendar, from the year 1 on; times since 1970 in other units. */
#ifndef AMQPCODEC_DATE_H
#define AMQPCODEC_DATE_H

#include <stdint.h>

enum { EPOCH_DAY = 719162 }; /* 1970-01-01 */

/* The number of a day: 0 is 0001-01-01. Years begin in March here, so that a leap day is the last of its year. */
static inline uint32_t day_from_date(int year, int month, int day_of_month) {
    uint32_t y = (uint32_t)(year - (month <= 2)), m = (uint32_t)(month > 2 ? month - 3 : month + 9);
    return y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + (uint32_t)day_of_month - 1 - 306;
}

static inline void date_from_day(uint32_t day, int *year, int *month, int *day_of_month) {
    uint32_t era, doe, yoe, doy, m;
    day += 306;
    era = day / 146097; /* of 400 years */
    doe = day - era * 146097;
    yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    m = (5 * doy + 2) / 153;
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(yoe + era * 400) + (*month <= 2);
    *day_of_month = (int)(doy - (153 * m + 2) / 5 + 1);
}

/* Whether int64 holds the microseconds of a time, which are stored. */
static inline int us_from_seconds(uint64_t seconds, int64_t *us) {
    *us = (int64_t)(seconds * 1000000);
    return seconds <= INT64_MAX / 1000000;
}

static inline int us_from_ms(int64_t ms, int64_t *us) {
    *us = (int64_t)((uint64_t)ms * 1000);
    return -(INT64_MAX / 1000000) * 1000 <= ms && ms <= INT64_MAX / 1000000 * 1000;
}

/* A time in a coarser unit, floored: C divides towards zero. */
static inline int64_t coarser_time(int64_t time, int64_t units) {
    int64_t q = time / units;
    return q - (q * units > time);
}

#endif
