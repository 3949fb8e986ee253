import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CA_BUNDLE_PATH } from '../../src/contracts/builds/pod.ts'
import { cachedAt } from '../controlplane/cache.ts'
import { builtTool, type Tool, type ToolSearch } from '../controlplane/tool.ts'
import { REGISTRY } from './addresses.ts'
import { withDependencies } from './filesImage.ts'
import { type Image, makeImage } from './image.ts'
import { unpackedPackages } from './packages.ts'
import { NODE_LIBRARIES } from './platformImage.ts'
import { sourcesOf } from './sources.ts'

const run = promisify(execFile)
const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const NAME = 'freehold-builder:1'
/** The image of builds on a node (setting `buildImage`). */
export const BUILDER_IMAGE = `${REGISTRY}/${NAME}`

const TOOLS: readonly Tool[] = [
  { folder: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildkitd', name: 'buildkitd' },
  { folder: 'buildkit', package: 'github.com/moby/buildkit/cmd/buildctl', name: 'buildctl' },
  { folder: 'registryclients', package: 'github.com/google/go-containerregistry/cmd/crane', name: 'crane' },
]
const PACKAGES = ['git', 'runc', 'rootlesskit', 'uidmap', 'openssh-client', 'ca-certificates', 'dash', 'libc-bin']
export const BUILDER_PROGRAM = 'src/adapters/builds/agent/main.ts'

/**
 * Programs that give a user a range of further ids: with file capabilities, because setuid is not enough in a
 * container.
 */
const MAPPERS = { newuidmap: 'cap_setuid+ep', newgidmap: 'cap_setgid+ep' }

/**
 * The image of builds: BuildKit without root, git, a registry client, and our program. @throws Error that says what is
 * missing
 */
export async function builderImage(search: ToolSearch): Promise<Image> {
  const programs = await Promise.all(TOOLS.map((tool) => builtTool(tool, search)))
  const base = await unpackedPackages(
    { name: 'builder', packages: [...PACKAGES, ...NODE_LIBRARIES.packages], dependencies: 'all' },
    search,
  )
  const sources = await sourcesOf(PROJECT, BUILDER_PROGRAM)
  const locked = JSON.parse(await readFile(join(PROJECT, 'package-lock.json'), 'utf8')).packages
  const packages = withDependencies(['tar-stream'], locked)
  const key = createHash('sha256').update(JSON.stringify([process.version, programs, base, packages, FILES]))
  for (const path of sources) key.update(path).update(await readFile(join(PROJECT, path)))
  const installed = dirname(await realpath(join(PROJECT, 'node_modules')))
  const account = await accountLayer(base)
  try {
    const layers = [
      base,
      account,
      ...programs.map((program) => ({ from: dirname(program), paths: [basename(program)], to: 'usr/bin' })),
      { from: dirname(process.execPath), paths: ['node'], to: 'usr/bin' },
      { from: installed, paths: packages, to: 'app' },
      { from: PROJECT, paths: ['package.json', ...sources], to: 'app' },
    ]
    const config = { Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'], WorkingDir: '/app', User: '1000:1000' }
    return await makeImage({ name: NAME, layers, config, key: key.digest('hex') })
  } finally {
    await rm(account, { recursive: true, force: true })
  }
}

const FILES = {
  'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n',
  'etc/group': 'root:x:0:\nuser:x:1000:\n',
  'etc/subuid': 'user:100000:65536\n',
  'etc/subgid': 'user:100000:65536\n',
}
/** From Debian's package, whose install script would assemble them. */
const AUTHORITIES = 'usr/share/ca-certificates/mozilla'

/** The image's user, its subordinate ids, the programs that map these, and the trusted certificates. */
async function accountLayer(base: string): Promise<string> {
  const temporary = await mkdtemp(cachedAt('builder-account-'))
  await chmod(temporary, 0o755)
  for (const folder of ['etc/ssl/certs', 'usr/bin', 'home/user', 'work', 'run/build']) {
    await mkdir(join(temporary, folder), { recursive: true, mode: 0o755 })
  }
  for (const [path, text] of Object.entries(FILES)) await writeFile(join(temporary, path), text, { mode: 0o644 })
  const authorities = (await readdir(join(base, AUTHORITIES))).sort()
  const texts = await Promise.all(authorities.map((name) => readFile(join(base, AUTHORITIES, name), 'utf8')))
  await writeFile(join(temporary, CA_BUNDLE_PATH), texts.join(''), { mode: 0o644 })
  for (const [name, capability] of Object.entries(MAPPERS)) {
    const target = join(temporary, 'usr/bin', name)
    await copyFile(join(base, 'usr/bin', name), target)
    await chmod(target, 0o755)
    await run('setcap', [capability, target])
  }
  return temporary
}
