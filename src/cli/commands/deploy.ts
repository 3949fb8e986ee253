import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PlatformApiError, pathOf } from '../../client/index.ts'
import { isFinalPhase } from '../../contracts/deployments.ts'
import { pluralize } from '../../core/pluralize.ts'
import { packFolder, readUploadFiles } from '../archive.ts'
import type { Command, Context, Input } from '../command.ts'
import { type Deployment, deploymentRoute, deploymentsOf } from '../deployments.ts'
import { CommandFailure, EXIT, localFailure, usage } from '../failure.ts'
import { printable } from '../output.ts'
import { statusLine } from '../recordStatus.ts'
import {
  listSubresourceRoutes,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  send,
  sendToSubresource,
} from '../requests.ts'
import { STATUS_POLL_INTERVAL_MS, TIMEOUT_OPTIONS, timeoutOf } from '../waiting.ts'
import { publicUrlOf } from './deployed.ts'

/** Uploads a folder, follows the build log, and exits with its result. */
export const deploy: Command = {
  name: 'deploy',
  summary: 'Build and serve a folder, or the code that an app or a site has',
  positionals: [{ name: 'FOLDER', isOptional: true }],
  options: [
    { long: 'name', value: 'NAME', summary: 'Name of the app; default: the name of the folder' },
    {
      long: 'kind',
      value: 'KIND',
      summary: 'Its kind; default app. Of another kind, such as staticwebapp or function, it must exist',
    },
    ...PATH_OPTIONS,
    ...TIMEOUT_OPTIONS,
  ],
  details:
    'An app that does not exist is created. A function takes a folder too: freehold deploy hello --kind function -p namespaceName=calls. Other kinds take none. An app of a repository is built from there; FOLDER is then not sent.\nWhat Git ignores is not sent, nor are .git and node_modules.\nThe log goes to stdout, the phases to stderr. Exit code 6: it is not served. Exit code 7: the time is up.',
  async run(input, context) {
    const folder = resolve(input.positionals[0] ?? '.')
    const name = input.text('name') ?? nameOf(folder)
    const kind = input.text('kind') ?? 'app'
    const getInput = { ...input, positionals: [kind, name] }
    const reading = await prepareRequest('get', getInput, context)
    const found = await findRecord(reading)
    // Reads the folder first: an app that is created and then has nothing to serve would stay behind.
    const sendSource = sendsFolder(reading, found) ? await sourceIn(folder, reading, context) : undefined
    if (found === undefined) await createApp(getInput, context)
    const id = sendSource === undefined ? await build(reading) : await sendSource()
    context.terminal.err(`${name}: deployment ${id}\n`)
    await follow(reading, id, name, getInput, context)
    const url = publicUrlOf(await send(reading))
    if (url !== undefined) context.terminal.err(`${name}: ${url}\n`)
  },
}

/** Derives a valid resource name from the folder's name. */
export function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-+/, '')
    .slice(0, 40)
    .replace(/-+$/, '')
  if (/^[a-z]/.test(name)) return name
  throw usage(`No name can be derived from the folder ${printable(folder)}: give one with --name.`)
}

type DeployedRecord = { sourceKind?: string }

/** Returns the record; undefined if it does not exist and can be created. */
async function findRecord(reading: PreparedRequest): Promise<DeployedRecord | undefined> {
  try {
    return ((await send(reading)) ?? {}) as DeployedRecord
  } catch (error) {
    const isAbsent = error instanceof PlatformApiError && error.status === 404
    if (!isAbsent) throw error
    if (filesRoute(reading) !== undefined) throw usage(`${(error as Error).message} Create it first, with its handler.`)
    if (!takesArchive(reading)) throw usage(`${(error as Error).message} ${noFoldersMessage(reading)}`)
    return undefined
  }
}

function noFoldersMessage({ collection, target }: PreparedRequest): string {
  const isDeployed = listSubresourceRoutes(target, 'POST').some(({ words }) => words === 'deploy')
  const alternative = isDeployed ? 'create it from a repository or an image, or deploy' : 'deploy'
  return `${collection.noun} cannot be built from a folder: ${alternative} the folder as an app.`
}

async function createApp(input: Input, context: Context): Promise<void> {
  await send(await prepareRequest('create', input, context), { sourceKind: 'Upload' })
  context.terminal.err(`${input.positionals[1]}: is created\n`)
}

/** Whether the folder itself is deployed, which it is for an app that is yet to be created. */
const sendsFolder = (reading: PreparedRequest, found: DeployedRecord | undefined) =>
  filesRoute(reading) !== undefined || (takesArchive(reading) && (found === undefined || found.sourceKind === 'Upload'))

/** The upload route takes an archive, so it is not among the operations of the table. */
const takesArchive = ({ target }: PreparedRequest) => /\/apps\/\{\w+\}$/.test(target.route.path)
const filesRoute = ({ target }: PreparedRequest) =>
  listSubresourceRoutes(target, 'POST').find(({ words }) => words === 'source')

/**
 * Reads the folder before anything is created.
 *
 * @returns a function that uploads it and returns the id of the deployment
 * @throws CommandFailure (usage) for a missing or empty folder
 */
async function sourceIn(folder: string, reading: PreparedRequest, context: Context): Promise<() => Promise<string>> {
  const found = await stat(folder).catch(() => undefined)
  if (found === undefined) throw localFailure(`There is no folder ${printable(folder)}.`)
  if (!found.isDirectory()) throw localFailure(`${printable(folder)} is not a folder: name the one that it is in.`)
  const { environment, terminal } = context
  const nothing = usage(`There is nothing in ${printable(folder)} to send.`)
  const route = filesRoute(reading)
  if (route !== undefined) {
    const files = await readUploadFiles(folder, environment)
    if (files.length === 0) throw nothing
    return async () => {
      terminal.err(`Sending ${pluralize(files.length, 'file')}\n`)
      return ((await sendToSubresource(reading, route, { body: { files } })) as { deploymentId: string }).deploymentId
    }
  }
  const { bytes, files } = await packFolder(folder, environment)
  if (files === 0) throw nothing
  return async () => {
    terminal.err(`Sending ${pluralize(files, 'file')}, ${pluralize(bytes.length, 'byte')}\n`)
    const headers = { 'content-type': 'application/gzip' }
    const path = `${pathOf(reading.target.route.path, reading.target.values)}/source`
    const { text } = await reading.client.request({ method: 'PUT', path, headers, body: bytes })
    return (JSON.parse(text) as Deployment).id
  }
}

/** @returns the id of the deployment */
async function build(reading: PreparedRequest): Promise<string> {
  const route = listSubresourceRoutes(reading.target, 'POST').find(({ words }) => words === 'deploy')
  if (route === undefined) throw usage(noFoldersMessage(reading))
  return ((await sendToSubresource(reading, route, { body: {} })) as Deployment).id
}

/** @throws CommandFailure (failed) if the deployment fails, (overdue) at the timeout */
async function follow(
  reading: PreparedRequest,
  id: string,
  name: string,
  input: Input,
  context: Context,
): Promise<void> {
  const until = performance.now() + timeoutOf(input)
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  let log: Promise<void> | undefined
  let lastStatus = ''
  try {
    for (;;) {
      const deployment = (await deploymentsOf(reading)).find((one) => one.id === id)
      if (deployment === undefined && log !== undefined)
        throw new CommandFailure(EXIT.failed, 'The deployment is gone.')
      if (deployment !== undefined) log ??= showLog(reading, id, context, signal)
      // A function's deployment is created after the upload has been answered.
      const { phase, lastMessage } = deployment ?? { phase: 'Queued', lastMessage: '' }
      const line = lastMessage === '' ? phase : `${phase}: ${lastMessage}`
      if (line !== lastStatus) context.terminal.err(`${name}: ${printable(line)}\n`)
      lastStatus = line
      if (phase === 'Succeeded') return void (await Promise.race([log, delay(STATUS_POLL_INTERVAL_MS * 5)]))
      if (isFinalPhase(phase)) {
        await Promise.race([log, delay(STATUS_POLL_INTERVAL_MS * 5)])
        throw new CommandFailure(
          EXIT.failed,
          `${name} is not served: ${printable(line)}${await readStatus(reading, line)}`,
        )
      }
      if (performance.now() + STATUS_POLL_INTERVAL_MS > until)
        throw new CommandFailure(
          EXIT.overdue,
          `${name} is still ${printable(line).replace(/\.$/, '')}; it continues without you.${await readStatus(reading, line)}`,
        )
      await delay(STATUS_POLL_INTERVAL_MS, undefined, { signal: context.signal })
    }
  } finally {
    over.abort()
  }
}

/** Returns the resource's own status on a new line, such as why its copies do not start; empty if already shown. */
async function readStatus(reading: PreparedRequest, lastStatus: string): Promise<string> {
  const record = await send(reading).catch(() => undefined)
  const { statusMessage } = (record ?? {}) as { statusMessage?: string | null }
  if (!statusMessage || lastStatus.includes(statusMessage)) return ''
  return `\n${printable(statusLine(record))}`
}

/** An unreadable log does not fail the command. */
async function showLog(
  reading: PreparedRequest,
  id: string,
  { terminal }: Context,
  signal: AbortSignal,
): Promise<void> {
  const route = deploymentRoute(reading, 'GET', 'deployments/{deploymentId}/build-logs')
  if (route === undefined) return
  const path = pathOf(route.operation.path, { ...reading.target.values, deploymentId: id }, { follow: true })
  try {
    const headers = { accept: 'text/plain' }
    for await (const text of reading.client.stream({ method: 'GET', path, headers, signal })) terminal.out(text)
  } catch (error) {
    if (!signal.aborted) terminal.err(`The log of the build cannot be shown: ${(error as Error).message}\n`)
  }
}
