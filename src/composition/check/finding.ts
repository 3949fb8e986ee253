/** The result of one check. `off` means not configured by choice, and says what does not work then. */
export type Finding = {
  readonly status: 'ok' | 'off' | 'fault'
  /** What was found, in one sentence. */
  readonly message: string
  /** What to do about it. */
  readonly remedy?: string
}

export const ok = (message: string): Finding => ({ status: 'ok', message })
export const off = (message: string, remedy: string): Finding => ({ status: 'off', message, remedy })
export const fault = (message: string, remedy: string): Finding => ({ status: 'fault', message, remedy })

/** Formats findings for a terminal: a line each, with the remedy below. */
export function formatFindings(findings: readonly (Finding & { name: string })[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  return findings
    .map(({ name, status: verdict, message, remedy }) => {
      const line = `${verdict.padEnd(5)}  ${name.padEnd(width)}  ${message}\n`
      return remedy === undefined ? line : `${line}${' '.repeat(width + 9)}${remedy}\n`
    })
    .join('')
}
