import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readParts } from '../../adapters/blobs/port.ts'
import { tarOfZip } from '../../adapters/builds/zipped.ts'
import { FUNCTION_PORT, type FunctionRuntime, functionNames } from '../../contracts/functions.ts'
import { FunctionNamespace, type ServerlessFunction } from '../../crds/functions.ts'
import type { Code } from '../../desired/builds/index.ts'
import type { CachedNamespace } from '../functions/types.ts'
import { NoBuild } from './noBuild.ts'
import type { RecordPass } from './owners.ts'
import type { BuildOptions } from './types.ts'

const SERVERS = join(import.meta.dirname, '../../desired/functionServers')

/** What serves the handler, under a name that no source has by chance, and what starts it. */
const SERVED: Partial<Record<FunctionRuntime, { from: string; to: string; start: string }>> = {
  nodejs: { from: 'node.mjs', to: 'freehold-server.mjs', start: 'exec node freehold-server.mjs' },
  python: { from: 'python.py', to: 'freehold_server.py', start: 'exec python3 freehold_server.py' },
}
const BUILD_MINUTES = 15

/** In the place of a digest where builds are played. */
const NOTHING = `sha256:${'0'.repeat(64)}`

export type FunctionCode = { code: Code; archive: string; files: Record<string, string> }

/**
 * What was uploaded for a function, put where builds find sources, and the server that is laid over it.
 *
 * @param repository of the namespace of functions
 * @throws NoBuild
 */
export async function functionCode(
  { object, records }: RecordPass,
  owner: Pick<ServerlessFunction, 'spec'> | undefined,
  repository: string,
  options: Pick<BuildOptions, 'archives' | 'sourceBlobs' | 'isPlayed'>,
): Promise<FunctionCode> {
  const { source, namespaceName = '', functionName = '' } = owner?.spec ?? {}
  const { namespace = '', name } = object.metadata
  if (source === undefined || source.deploymentId !== name)
    throw new NoBuild('Other files were uploaded meanwhile, or these were removed.')
  const around = records.cache<CachedNamespace>(FunctionNamespace.resource).get(namespace, namespaceName)
  const { runtime, runtimeVersion } = around?.spec ?? {}
  const served = runtime && SERVED[runtime]
  if (served === undefined) throw new NoBuild(`Sources of functions of runtime ${runtime ?? 'none'} cannot be built.`)
  const names = functionNames(object.spec.ownerName)
  const placeOf = (part: number) => ({ namespace, name: names.source(source.hash, part) })
  const read = () => readParts(options.sourceBlobs, placeOf, source.parts)
  const pipeline = { rootPath: '/', buildEnv: [], buildTimeoutMinutes: BUILD_MINUTES }
  const code = { branch: functionName, pipeline, runtime, runtimeVersion, startCommand: served.start }
  return {
    code: { ...code, port: FUNCTION_PORT } as unknown as Code,
    // A played build fetches nothing.
    archive: options.isPlayed ? `${repository}@${NOTHING}` : await keptArchive(read, repository, options),
    files: { [served.to]: await readFile(join(SERVERS, served.from), 'utf8') },
  }
}

async function keptArchive(
  read: () => Promise<Uint8Array[] | undefined>,
  repository: string,
  { archives }: Pick<BuildOptions, 'archives'>,
): Promise<string> {
  if (archives === undefined) throw new NoBuild('This platform has no registry to keep sources in.')
  const pieces = await read()
  if (pieces === undefined) throw new NoBuild('The uploaded files no longer exist: upload them again.')
  return (await archives.keep(repository, tarOfZip(Buffer.concat(pieces)))).reference
}
