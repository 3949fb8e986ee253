import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failureOfBuild } from '../../../contracts/builds/failure.ts'
import { BuildRefusal } from '../../../contracts/builds/files.ts'
import { BUILD_MOUNT_PATHS, type BuildTask, type TerminationMessage } from '../../../contracts/builds/pod.ts'
import { ENVIRONMENT_SECRET } from '../../../contracts/builds/recipes/dockerfile.ts'
import type { BuildPaths, PreparedBuild } from './buildPaths.ts'
import { runProgram } from './commands.ts'
import { registryClientEnvironment } from './registry.ts'

const HOME = BUILD_MOUNT_PATHS.state
const SOCKET_PATH = join(HOME, 'run/buildkitd.sock')
const SOCKET = `unix://${SOCKET_PATH}`
const START_TIMEOUT_MS = 60_000
const POLL_INTERVAL_MS = 100

/** The second part: builds the image. Its only credential may pull from this image's repository. */
export async function buildImage(places: BuildPaths): Promise<TerminationMessage> {
  const task = places.readOrder()
  const prepared = JSON.parse(await readFile(places.hand, 'utf8')) as PreparedBuild
  await shareBlobs(places)
  const daemon = await startBuildkit(task.settings)
  try {
    const environment = await registryClientEnvironment(places, 'pull')
    const { code, errorOutput } = await runProgram(
      'buildctl',
      ['--addr', SOCKET, 'build', ...optionsOf(task, prepared, places)],
      {
        environment,
      },
    )
    if (code !== 0) throw failureOfBuild(errorOutput)
    return {}
  } finally {
    daemon.kill()
  }
}

/** Shares one blob folder between image and cache, so that common layers, above all the base, are written once. */
async function shareBlobs({ image, cache }: BuildPaths): Promise<void> {
  const blobs = join(image, 'blobs')
  await Promise.all([mkdir(blobs, { recursive: true }), mkdir(cache)])
  await symlink(blobs, join(cache, 'blobs'))
}

/** Runs BuildKit in its own user namespace and in the network of the pod. */
async function startBuildkit(settings: BuildTask['settings']) {
  const folders = { XDG_RUNTIME_DIR: join(HOME, 'run'), XDG_DATA_HOME: join(HOME, 'data'), TMPDIR: join(HOME, 'tmp') }
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 })
  const configuration = join(HOME, 'buildkitd.toml')
  await writeFile(configuration, configurationOf(settings))
  const args = [
    '--net=host',
    'buildkitd',
    '--addr',
    SOCKET,
    '--root',
    join(HOME, 'data/buildkit'),
    '--config',
    configuration,
  ]
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME, USER: 'user', ...folders }
  let output = ''
  const daemon = spawn('rootlesskit', [...args, '--oci-worker-no-process-sandbox'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [daemon.stdout, daemon.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-8_192)
    })
  }
  let hasEnded = false
  daemon.once('close', () => {
    hasEnded = true
  })
  for (const deadline = Date.now() + START_TIMEOUT_MS; ; await sleep(POLL_INTERVAL_MS)) {
    // The socket appears once the worker is ready.
    if (existsSync(SOCKET_PATH)) return daemon
    if (!hasEnded && Date.now() < deadline) continue
    console.log(output)
    throw new BuildRefusal('BuilderFailed', 'BuildKit does not start on this node: see the log of the build.')
  }
}

/** Pulls of all registries go through the mirror, if there is one. */
function configurationOf({ registry, isRegistryInsecure, imageMirror }: BuildTask['settings']): string {
  const plain = (host: string) => `[registry."${host}"]\n  http = ${isRegistryInsecure}\n`
  const hosts = new Set([registry, ...(imageMirror === undefined ? [] : [imageMirror])])
  const mirrored = imageMirror === undefined ? [] : ['docker.io', 'gcr.io', 'ghcr.io', 'quay.io', 'mcr.microsoft.com']
  return [
    '[worker.oci]\n  enabled = true\n  gc = false\n[worker.containerd]\n  enabled = false\n',
    ...(isRegistryInsecure ? [...hosts].map(plain) : []),
    ...mirrored.map((host) => `[registry."${host}"]\n  mirrors = ["${imageMirror}"]\n`),
  ].join('')
}

function optionsOf(
  { cache, image, recipe, settings }: BuildTask,
  prepared: PreparedBuild,
  places: BuildPaths,
): string[] {
  const insecure = settings.isRegistryInsecure ? ',registry.insecure=true' : ''
  const { variables } = recipe
  return [
    '--progress=plain',
    '--frontend=dockerfile.v0',
    `--local=context=${prepared.context}`,
    `--local=dockerfile=${prepared.dockerfile.folder}`,
    `--opt=filename=${prepared.dockerfile.name}`,
    ...(prepared.server ? [`--local=server=${places.recipe}`, '--opt=context:server=local:server'] : []),
    ...(variables.length > 0 ? [`--secret=id=${ENVIRONMENT_SECRET},src=${places.entryAt('environment')}`] : []),
    '--opt=attest:provenance=mode=min',
    ...(settings.scannerImage === undefined ? [] : [`--opt=attest:sbom=generator=${settings.scannerImage}`]),
    `--output=type=oci,tar=false,dest=${places.image},name=${image}`,
    `--import-cache=type=registry,ref=${cache}${insecure}`,
    `--export-cache=type=local,mode=max,image-manifest=true,dest=${places.cache}`,
  ]
}
