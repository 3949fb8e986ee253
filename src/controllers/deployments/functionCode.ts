import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readParts } from '../../adapters/blobs/port.ts'
import { convertZipToTarGz } from '../../adapters/builds/zipToTarGz.ts'
import { FUNCTION_PORT, FUNCTION_RUNTIMES, functionNames, newestRuntimeVersion } from '../../contracts/functions.ts'
import { FunctionNamespace, type ServerlessFunction } from '../../crds/functions.ts'
import type { BuildableCode } from '../../desired/builds/index.ts'
import { BuildNotStartedError } from './buildNotStarted.ts'
import type { RecordPass } from './owners.ts'
import type { BuildOptions } from './types.ts'

const SERVERS = join(import.meta.dirname, '../../desired/functionServers')

const BUILD_MINUTES = 15

/** Placeholder digest for simulated builds. */
const PLACEHOLDER_DIGEST = `sha256:${'0'.repeat(64)}`

export type FunctionCode = { code: BuildableCode; archive: string; files: Record<string, string> }

/**
 * Stores a function's uploaded files where builds find sources, and returns them with the server files laid over them.
 *
 * @param repository registry repository of the function namespace
 * @throws BuildNotStartedError
 */
export async function prepareFunctionCode(
  { object, records }: RecordPass,
  owner: Pick<ServerlessFunction, 'spec'> | undefined,
  repository: string,
  options: Pick<BuildOptions, 'archives' | 'sourceBlobs' | 'isSimulated'>,
): Promise<FunctionCode> {
  const { source, namespaceName = '', functionName = '' } = owner?.spec ?? {}
  const { namespace = '', name } = object.metadata
  if (source === undefined || source.deploymentId !== name)
    throw new BuildNotStartedError('Other files were uploaded meanwhile, or these were removed.')
  const functionNamespace = records.cache(FunctionNamespace).get(namespace, namespaceName)
  const runtime = functionNamespace?.spec.runtime
  const server = runtime && FUNCTION_RUNTIMES[runtime].server
  if (runtime === undefined || server === undefined)
    throw new BuildNotStartedError(`Sources of functions of runtime ${runtime ?? 'none'} cannot be built.`)
  const names = functionNames(object.spec.ownerName)
  const placeOf = (part: number) => ({ namespace, name: names.source(source.hash, part) })
  const read = () => readParts(options.sourceBlobs, placeOf, source.parts)
  const pipeline = { rootPath: '/', buildCommand: server.build, buildEnv: [], buildTimeoutMinutes: BUILD_MINUTES }
  // Use the namespace's version: the default of apps may be older.
  const runtimeVersion = functionNamespace?.spec.runtimeVersion ?? newestRuntimeVersion(runtime)
  const code = { branch: functionName, pipeline, runtime, runtimeVersion, startCommand: server.start }
  return {
    code: { ...code, port: FUNCTION_PORT } as unknown as BuildableCode,
    // A simulated build fetches nothing.
    archive: options.isSimulated
      ? `${repository}@${PLACEHOLDER_DIGEST}`
      : await storeArchive(read, repository, options),
    files: await readServerFiles(server.files),
  }
}

async function readServerFiles(files: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const read = async ([to, from]: [string, string]) => [to, await readFile(join(SERVERS, from), 'utf8')]
  return Object.fromEntries(await Promise.all(Object.entries(files).map(read)))
}

async function storeArchive(
  read: () => Promise<Uint8Array[] | undefined>,
  repository: string,
  { archives }: Pick<BuildOptions, 'archives'>,
): Promise<string> {
  if (archives === undefined) throw new BuildNotStartedError('This platform has no registry to keep sources in.')
  const pieces = await read()
  if (pieces === undefined) throw new BuildNotStartedError('The uploaded files no longer exist: upload them again.')
  return (await archives.keep(repository, convertZipToTarGz(Buffer.concat(pieces)))).reference
}
