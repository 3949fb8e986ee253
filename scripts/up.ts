import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endWith, readableFile } from './commandLine.ts'
import { createProgress } from './controlplane/index.ts'
import { DOMAIN } from './platform.ts'
import { parseUpArguments, type UpArguments } from './up/arguments.ts'
import { type DetachMessage, startDetached } from './up/detach.ts'
import { type DevFile, readDevFile, runningSupervisor } from './up/state.ts'
import { supervise } from './up/supervise.ts'

const words = process.argv.slice(2)
const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  process.exitCode = await main(parseUpArguments(words))
} catch (error) {
  endWith(error)
}
if (process.connected) process.disconnect()

async function main(options: UpArguments): Promise<number> {
  if (options.kubeconfig !== undefined) await readableFile('--kubeconfig', options.kubeconfig)
  if (!options.supervise && (await runningSupervisor(options.folder)) !== undefined) return alreadyRunning(options)
  if (options.detach && !options.supervise) {
    const { ready, isPersonNew } = await startDetached(fileURLToPath(import.meta.url), words, options.folder, print)
    print(`Ready, running in the background; stop it with "npm run down".\n${summary(ready, isPersonNew)}`)
    return 0
  }
  return runHere(options)
}

/** Runs in this process until a signal comes, or until who started us is gone. */
async function runHere(options: UpArguments): Promise<number> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  const tell = (message: DetachMessage) => process.connected && process.send?.(message)
  let parted = false
  process.on('disconnect', () => {
    if (!parted) stop.abort()
  })
  // In the background: into the log, and to who started us as long as it listens.
  const output = { write: (text: string) => process.stderr.write(text) && tell({ line: text.trimEnd() }) }
  const ran = await supervise(options, {
    progress: createProgress(options.supervise ? output : process.stderr),
    signal: stop.signal,
    onReady(dev, isPersonNew) {
      if (!options.supervise) return print(`Ready. Ctrl-C stops everything.\n${summary(dev, isPersonNew)}`)
      parted = true
      tell({ ready: dev, isPersonNew })
    },
  })
  return ran ? 0 : alreadyRunning(options)
}

async function alreadyRunning({ folder, fresh }: UpArguments): Promise<number> {
  if (fresh)
    throw new Error(`The platform runs on ${folder}: stop it with "npm run down" before its data can be forgotten.`)
  const dev = await readDevFile(folder)
  if (dev === undefined)
    throw new Error(
      `Another "npm run up" is starting on ${folder} just now: wait for it, or stop it with "npm run down".`,
    )
  print(`Already running.\n${summary(dev, false)}`)
  return 0
}

/** Where images are pushed to: the registry of a node has another address for this machine than for pods. */
function pushed({ registry, registryAddress }: DevFile): string {
  return registry === registryAddress ? '' : `, pushed to ${registryAddress}`
}

/** The password is shown once, to who made it: this may be a terminal that others look at later. */
function summary(dev: DevFile, isPersonNew: boolean): string {
  const { source, version, simulated } = dev.kubernetes
  const { userName, initialPassword } = dev.person
  const password = isPersonNew ? `password ${initialPassword} (shown this once)` : 'initial password in dev.json'
  const played = simulated.length === 0 ? '' : `, played: ${simulated.join(', ')}`
  const hosts = dev.gateway && `  public hosts    https://*.${DOMAIN}:${dev.gateway.gatewayHttps}`
  return [
    `  REST interface  ${dev.facadeUrl}`,
    ...(hosts === undefined ? [] : [hosts]),
    ...(dev.registry === undefined ? [] : [`  images          ${dev.registry}${pushed(dev)}`]),
    `  tokens          ${dev.tokenUrl}`,
    `  sign in         "freehold setup --dev", then "freehold login" as ${userName}, ${password}`,
    `  commands        export PATH="${dirname(dev.certificateAuthority)}:$PATH" gives freehold and kubectl`,
    `  kubectl         kubectl --kubeconfig ${dev.kubeconfig}`,
    `  Kubernetes      ${version} (${source}${played})`,
    `  CA certificate  ${dev.certificateAuthority}`,
  ].join('\n')
}
