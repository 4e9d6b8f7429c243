/* Days and dates of the Gregorian calendar, from the year 1 on. */
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

#endif
