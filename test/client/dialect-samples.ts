/** What an API sends, in its own words, and what that comes to. */
export interface Sample {
  readonly api: string
  readonly url: string
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** The limits known afterwards. */
  readonly limits: readonly object[]
  /** How long the next call waits, in seconds. @default 0 */
  readonly waits?: number
}

const date = 'Mon, 30 Nov 2026 12:00:00 GMT'
/** That instant in seconds since 1970. */
const noon = 1_796_040_000
const any = 'https://api.test/things'

const requests = { unit: 'requests' }
const bytes = (text: string) => ({ partitionKey: new TextEncoder().encode(text) })

/** The rows of the table in docs/dialects.md, in its order. */
export const samples: readonly Sample[] = [
  {
    api: 'IETF draft 06',
    url: any,
    headers: {
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '30',
      'RateLimit-Policy': '100;w=60',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 100, windowSeconds: 60, available: 0 }],
    waits: 30,
  },
  {
    api: 'IETF draft 07',
    url: any,
    headers: { RateLimit: 'limit=100, remaining=50, reset=30', 'RateLimit-Policy': '100;w=60' },
    limits: [{ policy: 'legacy', ...requests, quota: 100, windowSeconds: 60, available: 50 }],
  },
  {
    api: 'IETF drafts 08 to 11',
    url: any,
    headers: {
      RateLimit: '"burst";r=8;t=3, "daily";r=900;t=40000;pk=:YWJj:',
      'RateLimit-Policy': '"burst";q=10;w=10, "daily";q=1000;w=86400;qu="requests"',
    },
    limits: [
      { policy: 'burst', ...requests, quota: 10, windowSeconds: 10, available: 8 },
      { policy: 'daily', ...bytes('abc'), ...requests, quota: 1000, windowSeconds: 86_400, available: 900 },
    ],
  },
  {
    api: 'express-rate-limit, legacy',
    url: any,
    headers: {
      date,
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(noon + 40),
    },
    limits: [{ policy: 'legacy', ...requests, quota: 100, available: 0 }],
    waits: 40,
  },
  {
    api: 'fastify-rate-limit',
    url: any,
    headers: { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '45' },
    limits: [{ policy: 'legacy', ...requests, quota: 100, available: 0 }],
    waits: 45,
  },
  {
    api: 'NestJS throttler',
    url: any,
    headers: {
      ...{
        'X-RateLimit-Limit-short': '3',
        'X-RateLimit-Remaining-short': '2',
        'X-RateLimit-Reset-short': '1',
      },
      ...{
        'X-RateLimit-Limit-long': '100',
        'X-RateLimit-Remaining-long': '0',
        'X-RateLimit-Reset-long': '55',
      },
    },
    limits: [
      { policy: 'long', ...requests, quota: 100, available: 0 },
      { policy: 'short', ...requests, quota: 3, available: 2 },
    ],
    waits: 55,
  },
  {
    api: 'NestJS throttler, on a refusal',
    url: any,
    status: 429,
    headers: { 'Retry-After-short': '1', 'Retry-After-long': '55' },
    limits: [],
    waits: 55,
  },
  {
    api: 'hono-rate-limiter',
    url: any,
    headers: { 'RateLimit-Limit': '10', 'RateLimit-Remaining': '9', 'RateLimit-Policy': '10;w=900' },
    limits: [{ policy: 'legacy', ...requests, quota: 10, windowSeconds: 900, available: 9 }],
  },
  {
    api: 'Kong',
    url: any,
    headers: {
      ...{ 'X-RateLimit-Limit-Minute': '5', 'X-RateLimit-Remaining-Minute': '4' },
      ...{ 'X-RateLimit-Limit-Hour': '100', 'X-RateLimit-Remaining-Hour': '99' },
      ...{ 'RateLimit-Limit': '5', 'RateLimit-Remaining': '4', 'RateLimit-Reset': '31' },
    },
    limits: [
      { policy: 'hour', ...requests, quota: 100, windowSeconds: 3600, available: 99 },
      { policy: 'minute', ...requests, quota: 5, windowSeconds: 60, available: 4 },
    ],
  },
  {
    api: 'Kong, response-ratelimiting',
    url: any,
    headers: { 'X-RateLimit-Limit-Videos-Minute': '10', 'X-RateLimit-Remaining-Videos-Minute': '9' },
    limits: [{ policy: 'videos-minute', ...requests, quota: 10, windowSeconds: 60, available: 9 }],
  },
  {
    api: 'Envoy',
    url: any,
    headers: {
      'x-ratelimit-limit': '10, 10;w=1;name="per-ip", 1000;w=3600',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 10, windowSeconds: 1, available: 0 }],
    waits: 1,
  },
  {
    api: 'Envoy’s rate limit service',
    url: any,
    headers: { 'RateLimit-Limit': '20, 20;w=60', 'RateLimit-Remaining': '19', 'RateLimit-Reset': '12' },
    limits: [{ policy: 'legacy', ...requests, quota: 20, windowSeconds: 60, available: 19 }],
  },
  {
    api: 'WHOOP',
    url: any,
    headers: {
      'X-RateLimit-Limit': '100, 100;window=60, 10000;window=86400',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '3',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 100, windowSeconds: 60, available: 0 }],
    waits: 3,
  },
  {
    api: 'GitHub',
    url: 'https://api.github.com/user',
    headers: {
      date,
      ...{ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '0', 'x-ratelimit-used': '5000' },
      ...{ 'x-ratelimit-reset': String(noon + 59), 'x-ratelimit-resource': 'core' },
    },
    limits: [{ policy: 'core', ...bytes('core'), ...requests, quota: 5000, available: 0 }],
    waits: 59,
  },
  {
    api: 'GitHub, a secondary limit',
    url: 'https://api.github.com/user',
    status: 403,
    headers: {
      'retry-after': '60',
      'x-ratelimit-remaining': '4000',
      'x-ratelimit-limit': '5000',
      'x-ratelimit-resource': 'core',
    },
    limits: [{ policy: 'core', ...bytes('core'), ...requests, quota: 5000, available: 4000 }],
    waits: 60,
  },
  {
    api: 'GitLab',
    url: 'https://gitlab.com/api/v4/projects',
    headers: {
      date,
      ...{
        'RateLimit-Limit': '60',
        'RateLimit-Name': 'throttle_authenticated_web',
        'RateLimit-Observed': '60',
      },
      ...{
        'RateLimit-Remaining': '0',
        'RateLimit-Reset': String(noon + 30),
        'RateLimit-ResetTime': 'Mon, 30 Nov 2026 12:00:30 GMT',
      },
    },
    limits: [
      {
        policy: 'throttle_authenticated_web',
        ...bytes('throttle_authenticated_web'),
        ...requests,
        ...{ quota: 60, windowSeconds: 60, available: 0 },
      },
    ],
    waits: 30,
  },
  {
    api: 'OpenAI',
    url: 'https://api.openai.com/v1/responses',
    headers: {
      ...{
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
      },
      ...{
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-tokens': '6ms',
      },
    },
    limits: [
      { policy: 'requests', ...requests, quota: 60, windowSeconds: 60, available: 59 },
      { policy: 'tokens', unit: 'tokens', quota: 150_000, windowSeconds: 60, available: 149_984 },
    ],
  },
  {
    api: 'OpenAI, a day',
    url: 'https://api.openai.com/v1/responses',
    headers: {
      'x-ratelimit-limit-requests': '200',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '24h0m0s',
    },
    limits: [{ policy: 'requests', ...requests, quota: 200, windowSeconds: 86_400, available: 0 }],
    // One of the two hundred comes back.
    waits: 432,
  },
  {
    api: 'OpenAI, on a refusal',
    url: 'https://api.openai.com/v1/responses',
    status: 429,
    headers: {
      'retry-after-ms': '1234',
      'x-ratelimit-remaining-requests': '5',
      'x-ratelimit-limit-requests': '60',
    },
    limits: [{ policy: 'requests', ...requests, quota: 60, available: 5 }],
    waits: 1.234,
  },
  {
    api: 'Azure OpenAI',
    url: 'https://mine.openai.azure.com/openai/deployments/a',
    headers: {
      ...{ 'x-ratelimit-limit-tokens': '-1', 'x-ratelimit-remaining-tokens': '-1' },
      ...{
        'x-ratelimit-limit-requests': '10',
        'x-ratelimit-remaining-requests': '8',
        'x-ratelimit-reset-requests': '12',
      },
    },
    limits: [{ policy: 'requests', ...requests, quota: 10, windowSeconds: 60, available: 8 }],
  },
  {
    api: 'Anthropic',
    url: 'https://api.anthropic.com/v1/messages',
    headers: {
      date: 'Thu, 21 Aug 2025 12:41:00 GMT',
      'anthropic-ratelimit-requests-limit': '1000',
      'anthropic-ratelimit-requests-remaining': '0',
      // A second in the past.
      'anthropic-ratelimit-requests-reset': '2025-08-21T12:40:59Z',
      'anthropic-ratelimit-input-tokens-limit': '80000',
      'anthropic-ratelimit-input-tokens-remaining': '79000',
      'anthropic-ratelimit-input-tokens-reset': '2025-08-21T12:41:01Z',
    },
    limits: [
      { policy: 'requests', ...requests, quota: 1000, windowSeconds: 60, available: 0 },
      { policy: 'input-tokens', unit: 'tokens', quota: 80_000, windowSeconds: 60, available: 79_000 },
    ],
    waits: 0.06,
  },
  {
    api: 'Stripe, on a refusal',
    url: 'https://api.stripe.com/v1/charges',
    status: 429,
    headers: {
      'Stripe-Rate-Limited-Reason': 'global-rate',
      'Stripe-Should-Retry': 'true',
      'Retry-After': '2',
    },
    limits: [],
    waits: 2,
  },
  {
    api: 'Shopify REST',
    url: 'https://shop.myshopify.com/admin/api/products.json',
    headers: { 'X-Shopify-Shop-Api-Call-Limit': '32/40' },
    limits: [{ policy: 'shop', ...requests, quota: 40, windowSeconds: 20, available: 8 }],
  },
  {
    api: 'Shopify REST, on a refusal',
    url: 'https://shop.myshopify.com/admin/api/products.json',
    status: 429,
    headers: { 'X-Shopify-Shop-Api-Call-Limit': '40/40', 'Retry-After': '2.0' },
    limits: [{ policy: 'shop', ...requests, quota: 40, windowSeconds: 20, available: 0 }],
    waits: 2,
  },
  {
    api: 'X',
    url: 'https://api.x.com/2/tweets',
    headers: {
      date,
      'x-rate-limit-limit': '900',
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': String(noon + 50),
    },
    limits: [
      {
        policy: 'endpoint',
        ...bytes('GET /*/tweets'),
        ...requests,
        quota: 900,
        windowSeconds: 900,
        available: 0,
      },
    ],
    waits: 50,
  },
  {
    api: 'Reddit',
    url: 'https://oauth.reddit.com/api/v1/me',
    headers: { 'X-Ratelimit-Used': '1', 'X-Ratelimit-Remaining': '599.0', 'X-Ratelimit-Reset': '241' },
    limits: [{ policy: 'api', ...requests, quota: 600, available: 599 }],
  },
  {
    api: 'Discord',
    url: 'https://discord.com/api/v10/channels/1/messages',
    headers: {
      date,
      ...{ 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': `${noon + 99}.123` },
      ...{ 'X-RateLimit-Reset-After': '14.57', 'X-RateLimit-Bucket': 'abcd1234' },
    },
    limits: [{ policy: 'abcd1234', ...bytes('abcd1234'), ...requests, quota: 5, available: 0 }],
    waits: 14.57,
  },
  {
    api: 'Slack, on a refusal',
    url: 'https://slack.com/api/chat.postMessage',
    status: 429,
    headers: { 'Retry-After': '30' },
    limits: [],
    waits: 30,
  },
  {
    api: 'Okta',
    url: 'https://mine.okta.com/api/v1/users',
    headers: {
      date,
      'X-Rate-Limit-Limit': '600',
      'X-Rate-Limit-Remaining': '0',
      'X-Rate-Limit-Reset': String(noon + 20),
    },
    limits: [{ policy: 'endpoint', ...bytes('GET /api/v1/users'), ...requests, quota: 600, available: 0 }],
    waits: 20,
  },
  {
    api: 'Auth0',
    url: 'https://mine.eu.auth0.com/api/v2/users',
    headers: {
      date,
      ...{ 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': String(noon + 5) },
      'Auth0-Client-Quota-Limit': 'b=per_hour;q=100;r=0;t=7,b=per_day;q=1000;r=999;t=80000',
    },
    limits: [
      { policy: 'api', ...requests, quota: 10, available: 9 },
      { policy: 'client-per_hour', ...requests, quota: 100, available: 0 },
      { policy: 'client-per_day', ...requests, quota: 1000, available: 999 },
    ],
    waits: 7,
  },
  {
    api: 'Zendesk',
    url: 'https://mine.zendesk.com/api/v2/tickets',
    headers: {
      ...{ 'X-Rate-Limit': '700', 'X-Rate-Limit-Remaining': '699', 'ratelimit-limit': '700' },
      ...{ 'ratelimit-remaining': '699', 'ratelimit-reset': '41' },
      'zendesk-ratelimit-tickets-index': 'total=100; remaining=0; resets=33',
    },
    limits: [
      { policy: 'account', ...requests, quota: 700, windowSeconds: 60, available: 699 },
      { policy: 'tickets-index', ...bytes('tickets-index'), ...requests, quota: 100, available: 0 },
    ],
    waits: 33,
  },
  {
    api: 'HubSpot',
    url: 'https://api.hubapi.com/crm/v3/objects/contacts',
    headers: {
      ...{ 'X-HubSpot-RateLimit-Max': '100', 'X-HubSpot-RateLimit-Remaining': '99' },
      ...{ 'X-HubSpot-RateLimit-Interval-Milliseconds': '10000', 'X-HubSpot-RateLimit-Daily': '250000' },
      'X-HubSpot-RateLimit-Daily-Remaining': '249000',
    },
    limits: [
      { policy: 'interval', ...requests, quota: 100, windowSeconds: 10, available: 99 },
      { policy: 'daily', ...requests, quota: 250_000, windowSeconds: 86_400, available: 249_000 },
    ],
  },
  {
    api: 'SendGrid',
    url: 'https://api.sendgrid.com/v3/lists',
    headers: {
      date,
      'X-RateLimit-Limit': '500',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(noon + 9),
    },
    limits: [{ policy: 'endpoint', ...bytes('GET /v3/lists'), ...requests, quota: 500, available: 0 }],
    waits: 9,
  },
  {
    api: 'Linear',
    url: 'https://api.linear.app/graphql',
    status: 400,
    headers: {
      date,
      ...{ 'X-RateLimit-Requests-Limit': '1500', 'X-RateLimit-Requests-Remaining': '0' },
      'X-RateLimit-Requests-Reset': String(noon * 1000 + 3_600_000),
      ...{
        'X-Complexity': '12',
        'X-RateLimit-Complexity-Limit': '250000',
        'X-RateLimit-Complexity-Remaining': '249988',
      },
    },
    limits: [
      { policy: 'requests', ...requests, quota: 1500, windowSeconds: 3600, available: 0 },
      { policy: 'complexity', unit: 'complexity', quota: 250_000, windowSeconds: 3600, available: 249_988 },
    ],
    waits: 2.4,
  },
  {
    api: 'Notion, on a refusal',
    url: 'https://api.notion.com/v1/pages',
    status: 429,
    headers: { 'Retry-After': '2' },
    limits: [],
    waits: 2,
  },
  {
    api: 'Jira and Confluence, cloud',
    url: 'https://mine.atlassian.net/rest/api/3/issue/A-1',
    headers: {
      date: 'Wed, 08 Oct 2025 14:59:10 GMT',
      ...{
        'X-RateLimit-Limit': '350',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': '2025-10-08T15:00Z',
      },
      ...{ 'X-RateLimit-NearLimit': 'true', 'RateLimit-Reason': 'jira-burst-based' },
    },
    limits: [
      { policy: 'jira-burst-based', ...bytes('jira-burst-based'), ...requests, quota: 350, available: 0 },
    ],
    waits: 50,
  },
  {
    api: 'Jira and Confluence, data center',
    url: any,
    headers: {
      ...{ 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '99', 'X-RateLimit-FillRate': '10' },
      ...{ 'X-RateLimit-Interval-Seconds': '60', 'retry-after': '0' },
    },
    limits: [{ policy: 'bucket', ...requests, quota: 100, windowSeconds: 600, available: 99 }],
  },
  {
    api: 'Cloudflare',
    url: 'https://api.cloudflare.com/client/v4/zones',
    headers: { Ratelimit: '"default";r=0;t=30', 'Ratelimit-Policy': '"burst";q=100;w=60' },
    limits: [{ policy: 'burst', ...requests, quota: 100, windowSeconds: 60, available: 0 }],
    waits: 30,
  },
  {
    api: 'Azure Resource Manager',
    url: 'https://management.azure.com/subscriptions/a',
    headers: {
      'x-ms-ratelimit-remaining-subscription-reads': '249',
      'x-ms-ratelimit-remaining-resource':
        'Microsoft.Compute/GetVMScaleSet3Min;197,Microsoft.Compute/GetVMScaleSet30Min;1297',
    },
    limits: [
      { policy: 'subscription-reads', ...requests, quota: 250, windowSeconds: 10, available: 249 },
      {
        ...{ policy: 'Microsoft.Compute/GetVMScaleSet3Min', ...bytes('Microsoft.Compute/GetVMScaleSet3Min') },
        ...{ ...requests, available: 197 },
      },
      {
        ...{
          policy: 'Microsoft.Compute/GetVMScaleSet30Min',
          ...bytes('Microsoft.Compute/GetVMScaleSet30Min'),
        },
        ...{ ...requests, available: 1297 },
      },
    ],
  },
  {
    api: 'Azure Resource Manager, a plan of old',
    url: 'https://management.azure.com/subscriptions/a',
    headers: { 'x-ms-ratelimit-remaining-subscription-reads': '11999' },
    limits: [{ policy: 'subscription-reads', ...requests, available: 11_999 }],
  },
  {
    api: 'Cosmos DB, on a refusal',
    url: any,
    status: 429,
    headers: { 'x-ms-retry-after-ms': '83', 'x-ms-request-charge': '4.9' },
    limits: [],
    waits: 0.083,
  },
  {
    api: 'Microsoft Graph',
    url: 'https://graph.microsoft.com/v1.0/me',
    headers: {
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '15',
      'RateLimit-Reset': '5',
      'x-ms-throttle-limit-percentage': '0.8',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 100, available: 15 }],
  },
  {
    api: 'Amazon’s Selling Partner API',
    url: 'https://sellingpartnerapi-eu.amazon.com/orders/v0/orders',
    headers: { 'x-amzn-RateLimit-Limit': '0.0167' },
    limits: [
      {
        policy: 'operation',
        ...bytes('GET /orders/v0/orders'),
        ...requests,
        quota: 1,
        windowSeconds: 60,
        available: 0,
        ratePerSecond: 0.0167,
      },
    ],
    waits: 59.88,
  },
  {
    api: 'AWS services, on a refusal',
    url: any,
    status: 429,
    headers: { 'x-amzn-ErrorType': 'TooManyRequestsException', 'x-amz-retry-after': '1500' },
    limits: [],
    waits: 1.5,
  },
  {
    api: 'Traefik, on a refusal',
    url: any,
    status: 429,
    headers: { 'X-Retry-In': '1.234567s' },
    limits: [],
    waits: 1.235,
  },
  {
    api: 'Laravel, on a refusal',
    url: any,
    status: 429,
    headers: {
      date,
      ...{ 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0', 'Retry-After': '37' },
      'X-RateLimit-Reset': String(noon + 37),
    },
    limits: [{ policy: 'legacy', ...requests, quota: 60, available: 0 }],
    waits: 37,
  },
  {
    api: 'Django REST framework, on a refusal',
    url: any,
    status: 429,
    headers: { 'Retry-After': '86' },
    limits: [],
    waits: 86,
  },
  {
    api: 'slowapi',
    url: any,
    headers: {
      date,
      ...{ 'X-RateLimit-Limit': '5', 'X-RateLimit-Remaining': '4', 'X-RateLimit-Reset': `${noon + 29}.37` },
      // On every answer, also where nothing was refused.
      'Retry-After': '29',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 5, available: 4 }],
  },
  {
    api: 'bucket4j, on a refusal',
    url: any,
    status: 429,
    headers: { 'X-Rate-Limit-Remaining': '0', 'X-Rate-Limit-Retry-After-Seconds': '3' },
    limits: [{ policy: 'api', ...requests, available: 0 }],
    waits: 3,
  },
  {
    api: 'Spring Cloud Gateway',
    url: any,
    headers: {
      ...{
        'X-RateLimit-Remaining': '1',
        'X-RateLimit-Burst-Capacity': '2',
        'X-RateLimit-Replenish-Rate': '1',
      },
      'X-RateLimit-Requested-Tokens': '1',
    },
    limits: [{ policy: 'bucket', ...requests, quota: 2, windowSeconds: 2, available: 1 }],
  },
  {
    api: 'AspNetCoreRateLimit',
    url: any,
    headers: {
      date: 'Mon, 30 Nov 2026 20:59:30 GMT',
      ...{ 'X-Rate-Limit-Limit': '1m', 'X-Rate-Limit-Remaining': '0' },
      'X-Rate-Limit-Reset': '2026-11-30T21:00:00.0000000Z',
    },
    limits: [{ policy: 'api', ...requests, available: 0 }],
    waits: 30,
  },
  {
    api: 'rack-attack, on a refusal',
    url: any,
    status: 429,
    headers: { 'RateLimit-Limit': '20', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '17' },
    limits: [{ policy: 'legacy', ...requests, quota: 20, available: 0 }],
    waits: 17,
  },
  {
    api: 'Docker Hub',
    url: 'https://registry-1.docker.io/v2/library/alpine/manifests/latest',
    headers: { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
    limits: [{ policy: 'legacy', ...requests, quota: 100, windowSeconds: 21_600, available: 76 }],
  },
  {
    api: 'Riot Games',
    url: 'https://euw1.api.riotgames.com/lol/status',
    headers: { 'X-App-Rate-Limit': '20:1,100:120', 'X-App-Rate-Limit-Count': '1:1,100:120' },
    limits: [
      { policy: 'app-1', ...requests, quota: 20, windowSeconds: 1, available: 19 },
      { policy: 'app-120', ...requests, quota: 100, windowSeconds: 120, available: 0 },
    ],
    waits: 120,
  },
  {
    api: 'Twitch',
    url: 'https://api.twitch.tv/helix/streams',
    headers: {
      date,
      'Ratelimit-Limit': '800',
      'Ratelimit-Remaining': '0',
      'Ratelimit-Reset': String(noon + 6),
    },
    limits: [{ policy: 'legacy', ...requests, quota: 800, available: 0 }],
    waits: 6,
  },
  {
    api: 'atproto',
    url: 'https://bsky.social/xrpc/a',
    headers: {
      date,
      ...{ 'RateLimit-Limit': '3000', 'RateLimit-Remaining': '0', 'RateLimit-Reset': String(noon + 8) },
      'RateLimit-Policy': '3000;w=300',
    },
    limits: [{ policy: 'legacy', ...requests, quota: 3000, windowSeconds: 300, available: 0 }],
    waits: 8,
  },
  {
    api: 'Akamai',
    url: any,
    headers: {
      date,
      ...{
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Next': '2026-11-30T12:00:04.500Z',
      },
    },
    limits: [{ policy: 'api', ...requests, quota: 60, available: 0 }],
    waits: 4.5,
  },
  {
    api: 'Vimeo',
    url: any,
    headers: {
      date,
      ...{
        'X-RateLimit-Limit': '100',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': 'Mon, 30 Nov 2026 12:00:11 GMT',
      },
    },
    limits: [{ quota: 100, ...requests, available: 0 }],
    waits: 11,
  },
  {
    api: 'lemlist',
    url: any,
    headers: {
      date: 'Tue, 16 Feb 2021 08:02:40 GMT',
      ...{ 'X-RateLimit-Limit': '20', 'X-RateLimit-Remaining': '0' },
      'X-RateLimit-Reset': 'Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)',
    },
    limits: [{ policy: 'api', ...requests, quota: 20, available: 0 }],
    waits: 2,
  },
  {
    api: 'MailerLite, on a refusal',
    url: any,
    status: 429,
    headers: { 'X-RateLimit-Retry-After': '12' },
    limits: [],
    waits: 12,
  },
  {
    api: 'prisjakt',
    url: 'https://api.prisjakt.nu/products',
    headers: { 'X-Rate-Limit-Limit': '10000', 'X-Rate-Limit-Remaining': '0', 'X-Rate-Limit-Reset': '60000' },
    limits: [{ policy: 'api', ...requests, quota: 10_000, windowSeconds: 3600, available: 0 }],
    waits: 60,
  },
  {
    api: 'Brevo',
    url: 'https://api.brevo.com/v3/contacts',
    headers: {
      'x-sib-ratelimit-limit': '10',
      'x-sib-ratelimit-remaining': '0',
      'x-sib-ratelimit-reset': '36',
    },
    limits: [{ policy: 'endpoint', ...bytes('GET /v3/contacts'), ...requests, quota: 10, available: 0 }],
    waits: 36,
  },
  {
    api: 'Basecamp',
    url: any,
    headers: {
      date: 'Fri, 01 Jan 2016 12:00:16 GMT',
      'X-RateLimit': '{"name":"API","period":10,"limit":50,"remaining":0,"until":"2016-01-01T12:00:20Z"}',
    },
    limits: [{ policy: 'API', ...requests, quota: 50, windowSeconds: 10, available: 0 }],
    waits: 4,
  },
]
