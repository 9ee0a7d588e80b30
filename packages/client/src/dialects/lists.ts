import { parseRateLimit, parseRateLimitPolicy } from '@ratepact/contract'
import type { Fields, Stated } from './dialect.js'
import { number } from './number.js'
import { sensibleName } from './row.js'

const mostMembers = 16

/** Riot: `X-App-Rate-Limit: 20:1,100:120` are quotas and their seconds, `X-App-Rate-Limit-Count: 1:1,1:120` what is used of each. */
export function readQuotaLists(fields: Fields): readonly Stated[] {
  return ['app', 'method'].flatMap((scope) => {
    const quotas = pairs(fields.get(`x-${scope}-rate-limit`))
    const used = new Map(
      pairs(fields.get(`x-${scope}-rate-limit-count`)).map(([units, seconds]) => [seconds, units]),
    )
    return quotas.map(([quota, seconds]) => ({
      name: `${scope}-${seconds}`,
      quota,
      left: Math.max(0, quota - (used.get(seconds) ?? 0)),
      windowMs: seconds * 1000,
    }))
  })
}

function pairs(text: string | undefined): readonly (readonly [units: number, seconds: number])[] {
  const parts = (text ?? '').split(',').slice(0, mostMembers)
  return parts.flatMap((part) => {
    const [, units, seconds] = /^\s*(\d{1,12}):(\d{1,9})\s*$/.exec(part) ?? []
    return Number(seconds) > 0 ? [[Number(units), Number(seconds)] as const] : []
  })
}

/** Zendesk: `total=100; remaining=99; resets=41`, a limit of one endpoint, in a field named after it. */
export function readEndpointFields(fields: Fields): readonly Stated[] {
  return fields.names.slice(0, 100).flatMap((field) => {
    const name = /^zendesk-ratelimit-(.+)$/.exec(field)?.[1]
    const said = members(fields.get(field) ?? '', ';')
    const left = number(said.get('remaining'))
    if (name === undefined || left === undefined) return []
    return [
      {
        name,
        key: name,
        quota: number(said.get('total')),
        left,
        resetMs: fields.untilMs(said.get('resets')),
      },
    ]
  })
}

/** Auth0: `b=per_hour;q=100;r=99;t=1,b=per_day;…`. */
export function readQuotaBuckets(fields: Fields): readonly Stated[] {
  return ['client', 'organization'].flatMap((scope) =>
    (fields.get(`auth0-${scope}-quota-limit`) ?? '')
      .split(',')
      .slice(0, mostMembers)
      .flatMap((part) => {
        const said = members(part, ';')
        const left = number(said.get('r'))
        const bucket = sensibleName(said.get('b'))
        if (left === undefined || bucket === undefined) return []
        return [
          {
            name: `${scope}-${bucket}`,
            quota: number(said.get('q')),
            left,
            resetMs: fields.untilMs(said.get('t')),
          },
        ]
      }),
  )
}

function members(text: string, parted: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .split(parted)
      .slice(0, mostMembers)
      .map((part) => part.split('=', 2).map((each) => each.trim()) as [string, string]),
  )
}

/** Azure: `Microsoft.Compute/GetVMScaleSet3Min;197,Microsoft.Compute/GetVMScaleSet30Min;1297`, the window in the name. */
export function readResourceList(fields: Fields): readonly Stated[] {
  const parts = (fields.get('x-ms-ratelimit-remaining-resource') ?? '').split(',').slice(0, mostMembers)
  return parts.flatMap((part) => {
    const [, name, left] = /^\s*([\x21-\x7e]{1,64}?);(\d{1,15})\s*$/.exec(part) ?? []
    if (name === undefined) return []
    const minutes = /(\d{1,4})Min$/.exec(name)?.[1]
    const resetMs = minutes === undefined ? undefined : Number(minutes) * 60_000
    return [{ name, key: name, left: Number(left), resetMs }]
  })
}

/** Basecamp: one field of JSON with `name`, `period`, `limit`, `remaining` and `until`. */
export function readJsonField(fields: Fields): readonly Stated[] {
  const said = parsed(fields.get('x-ratelimit'))
  const { remaining, limit, period, until, name } = said
  if (!isCount(remaining)) return []
  return [
    {
      name: sensibleName(typeof name === 'string' ? name : undefined) ?? 'api',
      quota: isCount(limit) ? limit : undefined,
      left: remaining,
      resetMs: typeof until === 'string' ? fields.untilMs(until) : undefined,
      windowMs: isCount(period) && period > 0 ? period * 1000 : undefined,
    },
  ]
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || !text.startsWith('{')) return {}
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Amazon's Selling Partner API: calls per second, with a fraction, and nothing of what is left. */
export function readRateField(fields: Fields): readonly Stated[] {
  const rate = number(fields.get('x-amzn-ratelimit-limit'))
  if (rate === undefined || rate < 1e-6) return []
  const quota = Math.max(1, Math.floor(rate))
  return [{ name: 'operation', perRoute: true, quota, windowMs: (quota / rate) * 1000, refill: 'bucket' }]
}

/** Cloudflare: one limit and one policy by the standard, of different names. */
export function readOnePolicy(fields: Fields): readonly Stated[] {
  const limits = parseRateLimit(fields.get('ratelimit'))
  const policies = parseRateLimitPolicy(fields.get('ratelimit-policy'))
  if (limits.status !== 'ok' || policies.status !== 'ok') return []
  const [limit, policy] = [limits.items[0], policies.items[0]]
  if (limit === undefined || policy === undefined || limits.items.length + policies.items.length > 2)
    return []
  const { effectiveWindowSeconds: seconds } = limit
  const { windowSeconds } = policy
  return [
    {
      ...{ name: policy.policy, unit: policy.unit, quota: policy.quota, left: limit.available },
      resetMs: seconds === undefined ? undefined : seconds * 1000,
      windowMs: windowSeconds === undefined ? undefined : windowSeconds * 1000,
    },
  ]
}
