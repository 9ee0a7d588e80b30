/** What the orders API grants each client. */
export const capacity = 20
export const refillPerSecond = 50

/** What the demo asks of it. */
export const calls = 300

/** No client can be done earlier: the bucket is full at first, and refills while it is used. */
export const idealSeconds: number = (calls - capacity) / refillPerSecond
