export type { AnswerHead, DialectOptions, DialectReading } from '../dialect.js'
export { catalogue } from './catalogue.js'
export type { Dialect, Fields, LimitRow, Stated } from './dialect.js'
export { dialects } from './dialects.js'
export { graphqlRefusals } from './graphql.js'
export {
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
  prisjakt,
  reddit,
  riot,
  sellingPartner,
  sendgrid,
  shopify,
  x,
  zendesk,
} from './presets.js'
