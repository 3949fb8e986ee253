import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { Command, Context, Input } from '../command.ts'
import { DEV_FILE, readDevFile } from '../devFile.ts'
import { CommandFailure, EXIT, localFailure } from '../failure.ts'
import { findSettings } from '../settings.ts'
import { explainKubectlFailure, isKubectlMessage } from './kubectlFailure.ts'

/** Command line within the image, which has no shell. */
const PROGRAM = ['/nodejs/bin/node', 'src/main.ts', '--role=facade', '--check']

/** Marks `--dev` without a file. */
const DEFAULT_DEV_FILE = ''

export const check: Command = {
  name: 'check',
  summary: 'Check an installation: what is missing, and what to do about it',
  options: [
    {
      long: 'kubeconfig',
      value: 'FILE',
      summary: 'Kubeconfig of a cluster administrator; default: the one of kubectl',
    },
    { long: 'context', value: 'NAME', summary: 'Context in it' },
    {
      long: 'dev',
      value: 'FILE',
      valueIfAbsent: DEFAULT_DEV_FILE,
      summary: `Check the platform of \`npm run up\` instead, by its dev.json (that of \`freehold setup --dev\`, else ${DEV_FILE})`,
    },
  ],
  details:
    'It runs a check in a facade in the cluster, by `kubectl exec`: of the API server, the kinds, the webhook, the\nidentity provider, the engines and the systems of its configuration. Nothing is changed.',
  async run(input, context) {
    const dev = input.text('dev')
    const { exitCode, messages, command } =
      dev === undefined ? await runInCluster(input, context) : await runLocally(dev, context)
    if (exitCode === 0) return
    const problem = explainKubectlFailure(messages, command)
    throw new CommandFailure(EXIT.refused, problem ?? 'The installation is incomplete, or could not be checked.')
  },
}

type CheckRun = { readonly exitCode: number | null; readonly messages: readonly string[]; readonly command: string }

/** Runs the check in the facade's pod. @returns the lines that kubectl itself wrote */
async function runInCluster(input: Input, context: Context): Promise<CheckRun> {
  const accessOptions = ['kubeconfig', 'context'].flatMap((name) => {
    const value = input.text(name)
    return value === undefined ? [] : [`--${name}=${value}`]
  })
  const facade = ['exec', '--namespace', SYSTEM_NAMESPACE, 'deployment/freehold-facade', '--container', 'facade', '--']
  const words = [...accessOptions, ...facade, ...PROGRAM]
  const child = spawn('kubectl', words, { env: context.environment, signal: context.signal })
  const messages: string[] = []
  const exitCode = await ended(child, context, (line) => isKubectlMessage(line) && messages.push(line) > 0)
  return { exitCode, messages, command: ['kubectl', ...words].join(' ') }
}

/** Runs the check on this machine, where `npm run up` runs the platform. */
async function runLocally(devFile: string, context: Context): Promise<CheckRun> {
  const path = devFile === DEFAULT_DEV_FILE ? await devFileSetUp(context) : devFile
  const { settings, kubeconfig = settings.PLATFORM_KUBECONFIG ?? '' } = await readDevFile(resolve(path))
  const words = [fileURLToPath(new URL('../../main.ts', import.meta.url)), ...PROGRAM.slice(2)]
  // Its service accounts may not read everything that the check looks at.
  const { PLATFORM_FACADE_CONTEXT: _, ...environment } = settings
  const env = { PATH: context.environment.PATH ?? '', ...environment, PLATFORM_KUBECONFIG: kubeconfig }
  const child = spawn(process.execPath, words, { env, signal: context.signal })
  return { exitCode: await ended(child, context, () => false), messages: [LOCAL_RUN_MESSAGE], command: '' }
}

async function devFileSetUp({ paths }: Context): Promise<string> {
  return (await findSettings(paths.settings))?.devFile ?? DEV_FILE
}

/** Pretends that kubectl ran the program, so that no trouble of kubectl is reported. */
const LOCAL_RUN_MESSAGE = 'command terminated with exit code 1'

/** @param isHidden returns true for lines of stderr to withhold from the user */
function ended(
  child: ChildProcess,
  { terminal }: Context,
  isHidden: (line: string) => boolean,
): Promise<number | null> {
  child.stdout?.on('data', (chunk) => terminal.out(String(chunk)))
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!isHidden(line)) terminal.err(`${line}\n`)
    })
  return new Promise((closed, failed) => {
    child.on('error', (error) =>
      failed(localFailure(`${child.spawnfile} could not be started: put it on the PATH.`, error)),
    )
    child.on('close', closed)
  })
}
