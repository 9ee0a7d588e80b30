import type { LimiterEvent } from '@ratepact/server'

/**
 * What is told of outages, in order: of one that lasts, that it lasts no more than once. A busy machine lets a single
 * call take too long now and then; such a turn, which ends before Redis is left alone, is no part of the course.
 */
export function courseOf(events: readonly LimiterEvent[]): readonly string[] {
  const course: string[] = []
  let turn: LimiterEvent[] = []
  for (const event of events) {
    turn.push(event)
    if (event.type !== 'recovered') continue
    if (!isHiccup(turn)) course.push(...wordsOf(turn))
    turn = []
  }
  return isHiccup(turn) ? course : [...course, ...wordsOf(turn)]
}

function isHiccup(turn: readonly LimiterEvent[]): boolean {
  return turn.every(
    (event) => event.type === 'recovered' || (event.type === 'degraded' && event.reason === 'timeout'),
  )
}

function wordsOf(turn: readonly LimiterEvent[]): readonly string[] {
  const words = turn.map((event) => (event.type === 'breaker' ? `breaker ${event.state}` : event.type))
  return words.filter((word, i) => word !== 'degraded' || words.indexOf('degraded') === i)
}
