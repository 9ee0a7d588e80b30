import { type ProblemDetails, problemMediaType } from '@ratepact/contract'
import type { Form } from './accept.js'

/** A body in ASCII, so that it has as many bytes as characters. */
export interface Body {
  readonly contentType: string
  readonly body: string
}

/** Problem details in the form that was asked for. */
export function bodyOf(details: ProblemDetails, form: Form): Body {
  const { status, title, detail } = details
  if (form === 'json') return { contentType: problemMediaType, body: JSON.stringify(details) }
  if (form === 'text') {
    const lines = [`${status} ${title}`, ...(detail === undefined ? [] : [detail])]
    return { contentType: 'text/plain; charset=utf-8', body: `${lines.join('\n')}\n` }
  }
  const heading = escaped(String(title))
  const text = detail === undefined ? '' : `<p>${escaped(detail)}</p>`
  return {
    contentType: 'text/html; charset=utf-8',
    body: `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>${heading}</title><h1>${heading}</h1>${text}</html>`,
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
