import { readFileSync } from 'node:fs'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

interface Dashboard {
  readonly title: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}

const folder = new URL('../../packages/server/monitoring/', import.meta.url)
const alerts = readFileSync(new URL('alerts.yml', folder), 'utf8')
const dashboard = JSON.parse(readFileSync(new URL('dashboard.json', folder), 'utf8')) as Dashboard
const shown = dashboard.panels.filter(({ type }) => type !== 'row')
const queries = shown.flatMap(({ targets = [] }) => targets)

/** What a program exports, each name with its labels. */
function exported(): ReadonlyMap<string, readonly string[]> {
  const register = new Registry()
  prometheusMetrics({ register, top: 1 })
  const about = register.getMetricsAsArray() as unknown as readonly {
    readonly name: string
    readonly type: unknown
    readonly labelNames: readonly string[]
  }[]
  return new Map(
    about.flatMap(({ name, type, labelNames }) =>
      type === 'histogram'
        ? [
            [`${name}_bucket`, [...labelNames, 'le']],
            [`${name}_sum`, labelNames],
            [`${name}_count`, labelNames],
          ]
        : [[name, labelNames]],
    ),
  )
}

const known = exported()
const everywhere = ['job', 'instance']

/** The names in a query, and the labels by which each is chosen. */
function chosenIn(query: string): readonly (readonly [name: string, labels: readonly string[]])[] {
  return [...query.matchAll(/(rate_limit_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', chosen = '']) => [
    name,
    [...chosen.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  ])
}

function groupedBy(query: string): readonly string[] {
  return [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(/,\s*/))
}

describe.each([
  ['the dashboard', queries.map(({ expr }) => expr)],
  ['its variables', dashboard.templating.list.flatMap(({ definition = [] }) => definition)],
  [
    'the alerts',
    alerts
      .split(/^ *- alert: /m)
      .slice(1)
      .map((rule) => rule.split('annotations:')[0] ?? ''),
  ],
])('%s', (_, asked) => {
  it('asks for nothing but what a program exports', () => {
    expect(asked.length).toBeGreaterThan(1)
    for (const query of asked)
      for (const [name, labels] of chosenIn(query)) {
        expect([...known.keys()]).toContain(name)
        expect([...everywhere, ...(known.get(name) ?? [])]).toEqual(expect.arrayContaining([...labels]))
        expect([...everywhere, ...(known.get(name) ?? [])]).toEqual(
          expect.arrayContaining([...groupedBy(query)]),
        )
      }
  })
})

describe('the dashboard', () => {
  it('shows every figure that there is', () => {
    const used = new Set(queries.flatMap(({ expr }) => chosenIn(expr).map(([name]) => name)))
    const figures = [...known.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    for (const figure of figures)
      expect(
        [...used].some((name) => name.startsWith(figure)),
        figure,
      ).toBe(true)
  })

  it('says of every panel what it is, with labels that its query keeps', () => {
    for (const { title, description, targets = [] } of shown) {
      expect(description, title).toMatch(/\w{3}/)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          expect(groupedBy(expr), title).toContain(label)
    }
  })

  it('lays no panel over another', () => {
    for (const [nth, { gridPos: a, title }] of dashboard.panels.entries())
      for (const { gridPos: b, title: other } of dashboard.panels.slice(nth + 1)) {
        const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
        expect(apart, `${title} and ${other}`).toBe(true)
      }
  })
})
