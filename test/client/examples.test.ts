import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { describe, expect, it, onTestFinished, vi } from 'vitest'

/** Answers in place of hosts that are not ours to call. */
function stand(url: string, headers: Record<string, string>, status = 200): void {
  const server = setupServer(http.all(url, () => HttpResponse.json({}, { status, headers })))
  server.listen({ onUnhandledRequest: 'error' })
  onTestFinished(() => server.close())
}

describe('The programs of docs/dialects.md', () => {
  it('show what GitHub says', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    onTestFinished(() => log.mockRestore())
    const fields = {
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '59',
      'x-ratelimit-reset': '1900000000',
    }
    stand('https://api.github.com/rate_limit', { ...fields, 'x-ratelimit-resource': 'core' })
    await import('../../examples/dialects.js')
    expect(log).toHaveBeenCalledWith(200, [
      expect.objectContaining({ policy: 'core', quota: 60, available: 59 }),
    ])
  })

  it('read an API of one’s own', async () => {
    stand('https://api.acme.test/a', { 'acme-max': '100', 'acme-used': '40', 'acme-exports-left': '7' })
    const { api } = await import('../../examples/own-dialect.js')
    await api('https://api.acme.test/a')
    expect(api.limits('https://api.acme.test/a')).toMatchObject([
      { policy: 'calls', quota: 100, available: 60 },
      { policy: 'exports', quota: 20, windowSeconds: 3600, available: 7 },
    ])
  })
})
