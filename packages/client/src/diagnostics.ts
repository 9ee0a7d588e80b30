import type { ClientEvent } from './events.js'

/** An event in plain words, for people: what happened, to whom, and why a call waits. */
export function explain(event: ClientEvent): string {
  return `${event.partition} ${event.route}: ${told(event)}`
}

function told(event: ClientEvent): string {
  switch (event.type) {
    case 'waiting':
      return `${calls(event.queued)} because ${why(event)}${span('; as far as is known the first may go in ', event.waitSeconds)}`
    case 'refused':
      return `refused with ${event.status} at attempt ${event.attempt}${span(', to come back in ', event.retryAfterSeconds)}`
    case 'retrying': {
      const after = event.status === undefined ? 'no answer came' : `the answer was ${event.status}`
      return `attempt ${event.attempt} follows${span(' in ', event.waitSeconds)}, since ${after}`
    }
    case 'gave-up':
      return `given up after ${event.attempts} attempts: ${reasons[event.reason]}`
    case 'answered':
      return `answered ${event.status} at attempt ${event.attempts}${span(', after waiting ', event.waitedSeconds)}`
    default:
      return `${event.field} was not used: ${event.reason}`
  }
}

type Waiting = Extract<ClientEvent, { type: 'waiting' }>
type GaveUp = Extract<ClientEvent, { type: 'gave-up' }>

const reasons: Readonly<Record<GaveUp['reason'], string>> = {
  'max-wait': 'its wait would be longer than maxWaitSeconds allows',
  'queue-full': 'as many calls wait as maxQueue allows',
  deadline: 'totalTimeoutSeconds would be over',
  closed: 'the client was closed',
  attempts: 'it was sent as often as maxAttempts allows',
  body: 'its body can be read only once, so it cannot be sent again',
  budget: 'retries take up more of the calls already than retry.budget allows',
}

function calls(queued: number): string {
  return queued === 1 ? '1 call waits' : `${queued} calls wait`
}

function why({ reason, policy }: Waiting): string {
  const limit = policy === undefined ? '' : ` ${JSON.stringify(policy)}`
  if (reason === 'limit') return `the limit${limit} leaves nothing now`
  if (reason === 'refusal')
    return `the server refused a call${limit && ` by the limit${limit}`} and asked to wait`
  return 'an answer that is to come tells what is left'
}

function span(before: string, seconds: number | undefined): string {
  return seconds === undefined ? '' : `${before}${Math.round(seconds * 1000) / 1000} s`
}

/** Attributes of an event by the names of OpenTelemetry's semantic conventions, and of our own where there are none. */
export type EventAttributes = Readonly<Record<string, string | number>>

/**
 * What an event tells, as the attributes of a span event, a log record or a metric. Its name there:
 * `ratepact.client.` and the type with `_` for `-`. The partition's number is left out, so that series stay few.
 *
 * @example
 * createFetch({ onEvent: (event) => trace.getActiveSpan()?.addEvent(eventName(event), attributesOf(event)) })
 */
export function attributesOf(event: ClientEvent): EventAttributes {
  const { partition, route, type, ...rest } = event
  const { hostname, port } = new URL(partition.split(' ')[0] ?? '')
  // A route of the user's own may be anything.
  const [, method, path = route] = /^([A-Z]+) (\/.*)$/.exec(route) ?? []
  const all: Record<string, string | number> = { 'server.address': hostname, 'url.template': path }
  if (method !== undefined) all['http.request.method'] = method
  if (port !== '') all['server.port'] = Number(port)
  for (const [name, value] of Object.entries(rest)) all[attributeNames[name] ?? `ratepact.${name}`] = value
  return all
}

/** The name of an event in OpenTelemetry's style. */
export function eventName({ type }: ClientEvent): string {
  return `ratepact.client.${type.replace('-', '_')}`
}

/** Durations in seconds, counts as they are. */
const attributeNames: Readonly<Record<string, string>> = {
  status: 'http.response.status_code',
  attempt: 'ratepact.attempt',
  attempts: 'ratepact.attempts',
  reason: 'ratepact.reason',
  policy: 'ratepact.policy',
  queued: 'ratepact.queue.size',
  waitSeconds: 'ratepact.wait.duration',
  waitedSeconds: 'ratepact.wait.duration',
  retryAfterSeconds: 'ratepact.retry_after',
  field: 'ratepact.field',
}
