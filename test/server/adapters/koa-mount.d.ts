declare module 'koa-mount' {
  import type { Middleware } from 'koa'
  // biome-ignore lint/style/noDefaultExport: what it has
  export default function mount(path: string, what: unknown): Middleware
}
