/** A person with a browser: follows redirects, keeps cookies, fills in whatever form the authorization server shows. */

const MAX_STEPS = 20

/** Goes to an address and on until it shows a page without a form. @returns that page. */
export async function browse(
  start: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const cookies = new Map<string, string>()
  let next: { readonly url: string; readonly form?: URLSearchParams } = { url: start }
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const answer = await fetch(next.url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(next.form === undefined ? {} : { method: 'POST', body: next.form }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const text = await answer.text()
    const location = answer.headers.get('location')
    if (location !== null) {
      next = { url: new URL(location, next.url).href }
      continue
    }
    const form = formOf(text)
    if (form === undefined) return { status: answer.status, text }
    next = { url: new URL(form.action, next.url).href, form: form.fields }
  }
  throw new Error(`no end after ${MAX_STEPS} pages, the last at ${next.url}`)
}

function formOf(
  page: string,
): { readonly action: string; readonly fields: URLSearchParams } | undefined {
  const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1]
  if (action === undefined) return undefined
  const fields = new URLSearchParams()
  for (const [input] of page.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]+)"/.exec(input)?.[1]
    if (name !== undefined) fields.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? 'somebody')
  }
  return { action: action.replaceAll('&amp;', '&'), fields }
}
