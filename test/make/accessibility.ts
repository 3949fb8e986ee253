import axe from 'axe-core'
import { type Document, Window } from 'happy-dom'

/** Rules about drawn pixels, which this browser lacks. `src/core/page.test.ts` computes the contrasts of the style. */
const UNDRAWN = ['color-contrast', 'target-size', 'scrollable-region-focusable']
/** What browsers do by themselves. */
const BROWSER_STYLE = '<style>[hidden]{display:none!important}</style>'

/** Returns what hinders people who use a screen reader or the keyboard, by rule (WCAG 2.2, as axe-core checks it). */
export async function accessibilityProblems(html: string): Promise<string[]> {
  const window = new Window({ settings: { disableJavaScriptFileLoading: true, disableCSSFileLoading: true } })
  const globals = globalThis as Record<string, unknown>
  const before = { window: globals.window, document: globals.document }
  try {
    window.document.write(html.replace('</title>', () => `</title>${BROWSER_STYLE}`))
    // axe-core uses the globals of a browser.
    Object.assign(globals, { window, document: window.document })
    const rules = Object.fromEntries(UNDRAWN.map((id) => [id, { enabled: false }]))
    const { violations } = await axe.run(window.document.documentElement as never, {
      rules,
      resultTypes: ['violations'],
    })
    const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html: element }) => `${id}: ${element}`))
    return [...found, ...structureProblems(window.document)]
  } finally {
    Object.assign(globals, before)
    await window.happyDOM.close()
  }
}

/** What axe-core leaves undecided without a layout. */
function structureProblems(document: Document): string[] {
  const all = (selector: string) => [...document.querySelectorAll(selector)]
  const counts = [
    [all('main').length === 1, 'there is not one main landmark'],
    [all('h1').length === 1, 'there is not one heading of the first level'],
    [all('[autofocus]').length < 2, 'several elements take the focus'],
  ] as const
  const described = (field: ReturnType<typeof all>[number]) => field.getAttribute('aria-describedby')?.split(' ') ?? []
  return [
    ...counts.flatMap(([isMet, problem]) => (isMet ? [] : [problem])),
    ...all('[aria-describedby]')
      .flatMap(described)
      .filter((id) => document.getElementById(id) === null)
      .map((id) => `nothing has the id "${id}", which describes a field`),
    ...all('[aria-invalid]')
      .filter((field) => described(field).length === 0)
      .map(({ id }) => `the error of "${id}" is not tied to it`),
  ]
}
