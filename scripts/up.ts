import { fileURLToPath } from 'node:url'
import { endWith, isFolder, readableFile } from './commandLine.ts'
import { createProgress } from './controlplane/index.ts'
import { parseUpArguments, type UpArguments } from './up/arguments.ts'
import { prepareDataFolder } from './up/dataFolder.ts'
import { beginLog, type DetachMessage, startDetached } from './up/detach.ts'
import { readDevFile, runningSupervisor } from './up/state.ts'
import { downCommand, summary } from './up/summary.ts'
import { supervise } from './up/supervise.ts'

const words = process.argv.slice(2)
const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  process.exitCode = await main(parseUpArguments(words))
} catch (error) {
  endWith(error)
}
if (process.connected) process.disconnect()
// Leftovers of an interrupted or failed start would keep the process alive for minutes.
process.stderr.write('', () => process.stdout.write('', () => process.exit()))

async function main(options: UpArguments): Promise<number> {
  if (options.kubeconfig !== undefined) await readableFile('--kubeconfig', options.kubeconfig)
  await isFolder('--data', options.folder)
  if (!options.supervise && (await runningSupervisor(options.folder)) !== undefined) return alreadyRunning(options)
  await prepareDataFolder(options.folder)
  if (options.detach && !options.supervise) {
    const { ready, isPersonNew } = await startDetached(fileURLToPath(import.meta.url), words, options.folder, print)
    print(
      `Ready, running in the background; stop it with "${downCommand(options.folder)}".\n${summary(ready, isPersonNew)}`,
    )
    return 0
  }
  return runHere(options)
}

/** Runs in this process until a signal arrives, or until the parent process is gone. */
async function runHere(options: UpArguments): Promise<number> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
  const sendToParent = (message: DetachMessage) => process.connected && process.send?.(message)
  let parted = false
  process.on('disconnect', () => {
    if (!parted) stop.abort()
  })
  // In the background: output goes to the log, and to the parent process as long as it listens.
  const output = { write: (text: string) => process.stderr.write(text) && sendToParent({ line: text.trimEnd() }) }
  const ran = await supervise(options, {
    progress: createProgress(options.supervise ? output : process.stderr),
    signal: stop.signal,
    onBegin: beginLog,
    onReady(dev, isPersonNew) {
      if (!options.supervise) return print(`Ready. Ctrl-C stops everything.\n${summary(dev, isPersonNew)}`)
      parted = true
      sendToParent({ ready: dev, isPersonNew })
    },
  })
  return ran ? 0 : alreadyRunning(options)
}

async function alreadyRunning({ folder, fresh }: UpArguments): Promise<number> {
  if (fresh)
    throw new Error(
      `The platform runs on ${folder}: stop it with "${downCommand(folder)}" before its data can be forgotten.`,
    )
  const dev = await readDevFile(folder)
  if (dev === undefined)
    throw new Error(
      `Another "npm run up" is starting on ${folder} just now: wait for it, or stop it with "${downCommand(folder)}".`,
    )
  print(`Already running.\n${summary(dev, false)}`)
  return 0
}
