/** What one look at an installation found. `off`: not set up, which is a choice; the words say what does not work then. */
export type Finding = {
  readonly verdict: 'ok' | 'off' | 'fault'
  /** What is there, or what is wrong. One sentence. */
  readonly what: string
  /** What to do about it. */
  readonly remedy?: string
}

export const ok = (what: string): Finding => ({ verdict: 'ok', what })
export const off = (what: string, remedy: string): Finding => ({ verdict: 'off', what, remedy })
export const fault = (what: string, remedy: string): Finding => ({ verdict: 'fault', what, remedy })

/** For a person in a terminal: one line each, and what to do below it. */
export function shownFindings(findings: readonly (Finding & { name: string })[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, verdict, what, remedy }) => {
      const line = `${verdict.padEnd(5)}  ${name.padEnd(width)}  ${what}\n`
      return remedy === undefined ? line : `${line}${' '.repeat(width + 9)}${remedy}\n`
    })
    .join('')
}
