import type { Dialect, LimitRow } from './dialect.js'
import { readFamilies } from './families.js'
import {
  readEndpointFields,
  readOnePolicy,
  readQuotaBuckets,
  readQuotaLists,
  readRateField,
  readResourceList,
} from './lists.js'

/** Three fields with one prefix. */
function triple(prefix: string, more: Partial<LimitRow> = {}): LimitRow {
  return {
    name: 'api',
    quota: `${prefix}limit`,
    left: `${prefix}remaining`,
    reset: `${prefix}reset`,
    ...more,
  }
}

/** Hosted GitHub; a server of your own: `{ ...github, hosts: ['github.example.com'] }`. */
export const github: Dialect = {
  name: 'github',
  hosts: ['api.github.com'],
  limits: [triple('x-ratelimit-', { name: 'core', nameFrom: 'x-ratelimit-resource' })],
  refusals: [403],
}

/** Its `RateLimit-Reset` is a timestamp, its limit a number for each minute. */
export const gitlab: Dialect = {
  name: 'gitlab',
  hosts: ['gitlab.com'],
  limits: [triple('ratelimit-', { nameFrom: 'ratelimit-name', window: 60 })],
}

/** Requests and tokens, in buckets that are whole again at the reset. */
export const openai: Dialect = { name: 'openai', hosts: ['api.openai.com'], limits: [], read: readFamilies }

function anthropicRow(what: string, unit: string): LimitRow {
  const prefix = `anthropic-ratelimit-${what}-`
  return triple(prefix, { name: what, unit, window: 60, resetWhenFull: true })
}

/** Limits for each minute, in buckets; resets have no fractions, so the window cannot be told from them. */
export const anthropic: Dialect = {
  name: 'anthropic',
  hosts: ['api.anthropic.com'],
  limits: [
    anthropicRow('requests', 'requests'),
    ...['tokens', 'input-tokens', 'output-tokens'].map((what) => anthropicRow(what, 'tokens')),
  ],
}

/** A leaky bucket that is empty after 20 seconds, whatever the plan's size. */
export const shopify: Dialect = {
  name: 'shopify',
  hosts: ['*.myshopify.com'],
  limits: [{ name: 'shop', usage: 'x-shopify-shop-api-call-limit', window: 20, refill: 'bucket' }],
}

/** A quarter of an hour, for each endpoint. */
export const x: Dialect = {
  name: 'x',
  hosts: ['api.x.com', 'api.twitter.com'],
  limits: [triple('x-rate-limit-', { name: 'endpoint', perRoute: true, window: 900, refill: 'window' })],
}

export const reddit: Dialect = {
  name: 'reddit',
  hosts: ['oauth.reddit.com', 'www.reddit.com'],
  limits: [
    { name: 'api', left: 'x-ratelimit-remaining', used: 'x-ratelimit-used', reset: 'x-ratelimit-reset' },
  ],
}

/**
 * `X-RateLimit-Reset-After` is the exact one of its two resets. Discord counts some buckets for each channel or guild, which share
 * a route here: a `route` of your own that keeps their identifiers lets each go by itself.
 */
export const discord: Dialect = {
  name: 'discord',
  hosts: ['discord.com', 'discordapp.com'],
  limits: [
    triple('x-ratelimit-', {
      name: 'route',
      nameFrom: 'x-ratelimit-bucket',
      reset: 'x-ratelimit-reset-after',
    }),
  ],
}

/** For each endpoint. */
export const okta: Dialect = {
  name: 'okta',
  hosts: ['*.okta.com', '*.oktapreview.com', '*.okta-emea.com'],
  limits: [triple('x-rate-limit-', { name: 'endpoint', perRoute: true })],
}

export const auth0: Dialect = {
  name: 'auth0',
  hosts: ['*.auth0.com'],
  limits: [triple('x-ratelimit-')],
  read: readQuotaBuckets,
}

/** One limit for the account, for each minute, and one for some endpoints. */
export const zendesk: Dialect = {
  name: 'zendesk',
  hosts: ['*.zendesk.com'],
  limits: [
    {
      name: 'account',
      quota: 'x-rate-limit',
      left: 'x-rate-limit-remaining',
      reset: 'ratelimit-reset',
      window: 60,
    },
  ],
  read: readEndpointFields,
}

/** No reset: the window is stated, or is the day. */
export const hubspot: Dialect = {
  name: 'hubspot',
  hosts: ['api.hubapi.com', 'api.hubspot.com'],
  limits: [
    {
      name: 'interval',
      quota: 'x-hubspot-ratelimit-max',
      left: 'x-hubspot-ratelimit-remaining',
      windowMs: 'x-hubspot-ratelimit-interval-milliseconds',
    },
    {
      name: 'daily',
      quota: 'x-hubspot-ratelimit-daily',
      left: 'x-hubspot-ratelimit-daily-remaining',
      window: 86_400,
    },
  ],
}

/** Buckets for each hour, whole again at the reset. Refusals have status 400. */
export const linear: Dialect = {
  name: 'linear',
  hosts: ['api.linear.app'],
  limits: [
    triple('x-ratelimit-requests-', { name: 'requests', window: 3600, resetWhenFull: true }),
    triple('x-ratelimit-endpoint-requests-', { name: 'endpoint', nameFrom: 'x-ratelimit-endpoint-name' }),
    triple('x-ratelimit-complexity-', {
      name: 'complexity',
      unit: 'complexity',
      window: 3600,
      resetWhenFull: true,
    }),
  ],
  refusals: [400],
}

/** Jira and Confluence in the cloud. */
export const atlassian: Dialect = {
  name: 'atlassian',
  hosts: ['*.atlassian.net', 'api.atlassian.com'],
  limits: [triple('x-ratelimit-', { nameFrom: 'ratelimit-reason' })],
}

/** Tells what is left and neither of how much nor until when. */
function azureRow(name: string, quota: number, perSecond: number): LimitRow {
  const left = `x-ms-ratelimit-remaining-${name}`
  return { name, left, quota, refillUnits: perSecond, refill: 'bucket' }
}

/** Azure Resource Manager: buckets whose sizes its documentation states. */
export const azure: Dialect = {
  name: 'azure',
  hosts: ['management.azure.com'],
  limits: [
    ...['subscription', 'tenant'].flatMap((scope) => [
      azureRow(`${scope}-reads`, 250, 25),
      azureRow(`${scope}-writes`, 200, 10),
      azureRow(`${scope}-deletes`, 200, 10),
    ]),
  ],
  read: readResourceList,
}

/** It speaks by the standard, but its policy and its limit have different names. */
export const cloudflare: Dialect = {
  name: 'cloudflare',
  hosts: ['api.cloudflare.com'],
  limits: [],
  beforeStandard: true,
  read: readOnePolicy,
}

export const sendgrid: Dialect = {
  name: 'sendgrid',
  hosts: ['api.sendgrid.com'],
  limits: [triple('x-ratelimit-', { name: 'endpoint', perRoute: true })],
}

export const brevo: Dialect = {
  name: 'brevo',
  hosts: ['api.brevo.com', 'api.sendinblue.com'],
  limits: [triple('x-sib-ratelimit-', { name: 'endpoint', perRoute: true })],
}

/** Amazon's Selling Partner API: a rate for each operation. */
export const sellingPartner: Dialect = {
  name: 'selling-partner',
  hosts: ['na', 'eu', 'fe'].map((region) => `sellingpartnerapi-${region}.amazon.com`),
  limits: [],
  read: readRateField,
}

export const riot: Dialect = {
  name: 'riot',
  hosts: ['*.api.riotgames.com'],
  limits: [],
  read: readQuotaLists,
}

/**
 * A delay in milliseconds, which nothing tells from one in seconds. Not in the catalogue, since its documentation does not tell the
 * host: `{ ...prisjakt, hosts: [yours] }`.
 */
export const prisjakt: Dialect = {
  name: 'prisjakt',
  hosts: [],
  limits: [triple('x-rate-limit-', { resetIn: 'milliseconds', window: 3600 })],
}
