/** The result of one check. `off` means not configured by choice, and says what does not work then. */
export type Finding = {
  readonly verdict: 'ok' | 'off' | 'fault'
  /** What was found, in one sentence. */
  readonly what: string
  /** What to do about it. */
  readonly remedy?: string
}

export const ok = (what: string): Finding => ({ verdict: 'ok', what })
export const off = (what: string, remedy: string): Finding => ({ verdict: 'off', what, remedy })
export const fault = (what: string, remedy: string): Finding => ({ verdict: 'fault', what, remedy })

/** Formats findings for a terminal: a line each, with the remedy below. */
export function formatFindings(findings: readonly (Finding & { name: string })[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, verdict, what, remedy }) => {
      const line = `${verdict.padEnd(5)}  ${name.padEnd(width)}  ${what}\n`
      return remedy === undefined ? line : `${line}${' '.repeat(width + 9)}${remedy}\n`
    })
    .join('')
}
