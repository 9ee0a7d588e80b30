import type { Dialect } from './dialect.js'
import {
  anthropic,
  atlassian,
  auth0,
  azure,
  brevo,
  cloudflare,
  discord,
  github,
  gitlab,
  hubspot,
  linear,
  okta,
  openai,
  reddit,
  riot,
  sellingPartner,
  sendgrid,
  shopify,
  x,
  zendesk,
} from './presets.js'

/** All APIs of which it is known how they state their limits. */
export const catalogue: readonly Dialect[] = [
  ...[anthropic, atlassian, auth0, azure, brevo, cloudflare, discord, github, gitlab, hubspot, linear, okta],
  ...[openai, reddit, riot, sellingPartner, sendgrid, shopify, x, zendesk],
]
