import { dirname, join, resolve } from 'node:path'
import { quoteShellWord } from '../../src/core/shellWord.ts'
import { DOMAIN } from '../platform.ts'
import type { DevFile } from './state.ts'

/** The default folder of `up`, `down` and the command line. */
const DEFAULT_FOLDER = '.freehold'

const isDefaultFolder = (folder: string) => folder === resolve(DEFAULT_FOLDER)

/** The command that stops the platform of a folder, quoted for a shell. */
export const downCommand = (folder: string): string =>
  isDefaultFolder(folder) ? 'npm run down' : `npm run down -- --data ${quoteShellWord(folder)}`

/** The command that sets up the command line for it. */
export const setupCommand = (folder: string): string =>
  isDefaultFolder(folder) ? 'freehold setup --dev' : `freehold setup --dev ${quoteShellWord(join(folder, 'dev.json'))}`

/** Where images are pushed to: a node's registry has a different address for this machine than for pods. */
function pushHint({ registry, registryAddress }: DevFile): string {
  return registry === registryAddress ? '' : `, pushed to ${registryAddress}`
}

/** The password is shown once, to the run that created it: others may look at this terminal later. */
export function summary(dev: DevFile, isPersonNew: boolean): string {
  const { source, version, simulated } = dev.kubernetes
  const { userName, initialPassword } = dev.person
  const folder = dirname(dev.certificateAuthority)
  const password = isPersonNew ? `password ${initialPassword} (shown this once)` : 'initial password in dev.json'
  const simulatedText = simulated.length === 0 ? '' : `, played: ${simulated.join(', ')}`
  const hosts = dev.gateway && `  public hosts    https://*.${DOMAIN}:${dev.gateway.gatewayHttps}`
  return [
    `  REST interface  ${dev.facadeUrl}`,
    ...(hosts === undefined ? [] : [hosts]),
    ...(dev.registry === undefined ? [] : [`  images          ${dev.registry}${pushHint(dev)}`]),
    `  tokens          ${dev.tokenUrl}`,
    `  sign in         "${setupCommand(folder)}", then "freehold login" as ${userName}, ${password}`,
    `  commands        export PATH="${folder}:$PATH" gives freehold and kubectl`,
    `  kubectl         kubectl --kubeconfig ${quoteShellWord(dev.kubeconfig)}`,
    `  Kubernetes      ${version} (${source}${simulatedText})`,
    `  CA certificate  ${dev.certificateAuthority}`,
  ].join('\n')
}
