import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../controlplane/processes.ts'
import type { ToolSearch } from '../controlplane/tool.ts'
import { builderImage } from './builderImage.ts'
import type { Image } from './image.ts'
import { type PackageImage, packageImage, pushInto } from './images.ts'
import type { Namespaces } from './namespaces.ts'
import { NODE_LIBRARIES } from './platformImage.ts'

const [MAJOR = ''] = process.versions.node.split('.')
const NPM = '#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/npm-cli.js "$@"\n'

const NGINX_FILES = join(import.meta.dirname, 'images/nginx')
/** Replaces the base image of sites. Its awk is a link that only installing a package would create. */
const NGINX_BASE: PackageImage = {
  name: 'library/nginx:1-alpine-slim',
  packages: ['nginx-light', 'dash', 'coreutils', 'mawk'],
  layers: [{ from: NGINX_FILES, paths: ['usr'], to: '' }],
  config: {},
}

const MARIADB_FILES = join(import.meta.dirname, 'images/mariadb')
/** Debian's MariaDB, in place of the image that SQL instances run. */
export const MARIADB: PackageImage = {
  name: 'library/mariadb:11.8',
  packages: ['mariadb-server', 'mariadb-client', 'dash', 'coreutils', 'sed', 'grep', 'hostname'],
  layers: [{ from: MARIADB_FILES, paths: ['usr', 'etc'], to: '' }],
  config: { Entrypoint: ['docker-entrypoint.sh'], User: '999:999' },
}

/** MariaDB, for SQL instances. @throws Error that says what is missing */
export async function pushEngines(node: Pick<Namespaces, 'inNetwork'>, search: ToolSearch): Promise<void> {
  await pushInto(node, [await engineImage(search)])
}

export async function engineImage(search: ToolSearch): Promise<Image> {
  return packageImage({ ...MARIADB, key: await contentOf(MARIADB_FILES) }, search)
}

/**
 * Images that no external registry can provide to a node: that of builds, and the base images of Node.js code and of
 * sites, from Debian's packages, the platform's Node, and this machine's npm.
 *
 * @throws Error that says what is missing
 */
export async function pushLibrary(node: Pick<Namespaces, 'inNetwork'>, search: ToolSearch): Promise<void> {
  await pushInto(node, await baseImages(search))
  await pushInto(node, [await builderImage(search)])
}

/** Of the code that is built on a node. @throws Error that says what is missing */
export async function baseImages(search: ToolSearch): Promise<Image[]> {
  return [await nodeBase(search), await packageImage({ ...NGINX_BASE, key: await contentOf(NGINX_FILES) }, search)]
}

async function contentOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  const paths = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const { parentPath, name } of paths.sort((one, other) => (one.name < other.name ? -1 : 1)))
    hash.update(name).update(await readFile(join(parentPath, name)))
  return hash.digest('hex')
}

async function nodeBase(search: ToolSearch): Promise<Image> {
  const command = onPath('npm')
  if (command === undefined) throw new Error('Builds of Node.js need npm, which is not on the PATH.')
  const npm = dirname(dirname(await realpath(command)))
  const temporary = await mkdtemp(join(tmpdir(), 'freehold-npm-'))
  try {
    await writeFile(join(temporary, 'npm'), NPM, { mode: 0o755 })
    return await packageImage(
      {
        name: `library/node:${MAJOR}-slim`,
        packages: [...NODE_LIBRARIES.packages, 'dash', 'coreutils'],
        layers: [
          { from: dirname(process.execPath), paths: ['node'], to: 'usr/bin' },
          { from: dirname(npm), paths: ['npm'], to: 'usr/lib/node_modules' },
          { from: temporary, paths: ['npm'], to: 'usr/bin' },
        ],
        key: `${process.version} ${await readFile(join(npm, 'package.json'), 'utf8')}`,
        config: {},
      },
      search,
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** The npm registry that this machine uses; by default the public one. */
export async function npmRegistry(): Promise<string> {
  const command = onPath('npm')
  const configured =
    command && (await promisify(execFile)(command, ['config', 'get', 'registry']).catch(() => undefined))
  const url = configured ? configured.stdout.trim() : ''
  return URL.canParse(url) ? url : 'https://registry.npmjs.org/'
}
