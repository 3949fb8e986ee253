/** Lines that kubectl itself writes: its log, and how the program or the call ended. */
const KUBECTL_LINE =
  /^(?:[EWIF]\d{4} \d\d:\d\d:|command terminated with exit code |Defaulted container |error: |Error from server|The connection to the server |Unable to connect)/
const EXIT_CODE_LINE = /^command terminated with exit code /

const OTHER_HINT = 'Name the kubeconfig of an administrator with --kubeconfig, or another context with --context.'
const NO_FACADE_HINT = [
  'In that cluster no facade runs (deployment freehold-facade in freehold-system):',
  'name the cluster of the installation with --kubeconfig or --context.',
  'Of a platform that `npm run up` started, beside its cluster, `freehold check --dev` finds it.',
].join(' ')

/** Our own messages for errors of kubectl, which are another system's text mixed with its log. */
const SENTENCES: readonly [said: RegExp, sentence: string][] = [
  [/\(NotFound\)|not found/, NO_FACADE_HINT],
  [/\(Forbidden\)|is forbidden/, `The user of the kubeconfig may not run a program in the facade. ${OTHER_HINT}`],
  [/\(Unauthorized\)|provide credentials/, `The API server does not know the user of the kubeconfig. ${OTHER_HINT}`],
  [
    /connection to the server .* was refused|Unable to connect|no such host|i\/o timeout|ServiceUnavailable|Timeout/,
    `kubectl reaches no API server. ${OTHER_HINT} Of a platform that \`npm run up\` started, \`freehold check --dev\` finds it.`,
  ],
  [
    /context .* does not exist|no such file|loading config|invalid configuration|permission denied/,
    `kubectl cannot use the kubeconfig or the context. ${OTHER_HINT}`,
  ],
]

/** Whether a line of stderr is from kubectl: other lines are from the program, or prompts to sign in. */
export function isKubectlMessage(line: string): boolean {
  return KUBECTL_LINE.test(line)
}

/**
 * Explains why the program was not run; undefined if it was run, whatever its exit code.
 *
 * @param lines of kubectl
 * @param command for the user to see kubectl's own output
 */
export function explainKubectlFailure(lines: readonly string[], command: string): string | undefined {
  if (lines.some((line) => EXIT_CODE_LINE.test(line))) return undefined
  // The log also has attempts that were retried.
  const message = lines.filter((line) => !/^[EWIF]\d{4} /.test(line)).join('\n')
  const known = SENTENCES.find(([pattern]) => pattern.test(message))
  return known?.[1] ?? `kubectl did not reach the facade: \`${command}\` shows why.`
}
