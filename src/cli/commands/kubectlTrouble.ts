/** What kubectl itself writes beside the program that it runs: its log, and how that program, or the call, ended. */
const OF_KUBECTL =
  /^(?:[EWIF]\d{4} \d\d:\d\d:|command terminated with exit code |Defaulted container |error: |Error from server|The connection to the server |Unable to connect)/
const RAN = /^command terminated with exit code /

const ANOTHER = 'Name the kubeconfig of an administrator with --kubeconfig, or another context with --context.'
const NO_FACADE = [
  'In that cluster no facade runs (deployment freehold-facade in freehold-system):',
  'name the cluster of the installation with --kubeconfig or --context.',
  'Of a platform that `npm run up` started, beside its cluster, `freehold check --dev` finds it.',
].join(' ')

/** Sentences of ours by what kubectl says: that is the text of another system, with its log before it. */
const SENTENCES: readonly [said: RegExp, sentence: string][] = [
  [/\(NotFound\)|not found/, NO_FACADE],
  [/\(Forbidden\)|is forbidden/, `The user of the kubeconfig may not run a program in the facade. ${ANOTHER}`],
  [/\(Unauthorized\)|provide credentials/, `The API server does not know the user of the kubeconfig. ${ANOTHER}`],
  [
    /connection to the server .* was refused|Unable to connect|no such host|i\/o timeout|ServiceUnavailable|Timeout/,
    `kubectl reaches no API server. ${ANOTHER} Of a platform that \`npm run up\` started, \`freehold check --dev\` finds it.`,
  ],
  [
    /context .* does not exist|no such file|loading config|invalid configuration|permission denied/,
    `kubectl cannot use the kubeconfig or the context. ${ANOTHER}`,
  ],
]

/** Whether a line of standard error is kubectl's: all others are of the program, or ask a person to sign in. */
export function isOfKubectl(line: string): boolean {
  return OF_KUBECTL.test(line)
}

/**
 * Why the program was not run; undefined where it was, however it ended.
 *
 * @param lines of kubectl
 * @param command that a person may run to see what kubectl says
 */
export function troubleOf(lines: readonly string[], command: string): string | undefined {
  if (lines.some((line) => RAN.test(line))) return undefined
  // Its log tells of what it tries again, too.
  const said = lines.filter((line) => !/^[EWIF]\d{4} /.test(line)).join('\n')
  const known = SENTENCES.find(([pattern]) => pattern.test(said))
  return known?.[1] ?? `kubectl did not reach the facade: \`${command}\` shows why.`
}
