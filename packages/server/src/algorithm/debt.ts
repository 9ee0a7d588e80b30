/**
 * The most that a policy may have in use, in quotas: what is taken after the fact may run up a debt of one quota, and
 * no stored state is believed beyond that, however it came about.
 */
export const MOST_QUOTAS = 2
