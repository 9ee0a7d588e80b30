export type { RunUntilOptions, TestClock } from './test-clock.js'
export { testClock } from './test-clock.js'
