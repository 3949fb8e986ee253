import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect } from 'chai'

const root = resolve(import.meta.dirname, '../..')

/**
 * Who may import whom (docs/architecture.md). A folder that is not listed here may not exist; `types` may be imported with
 * `import type` only; `port` lets a folder see the port of an adapter and nothing behind it.
 */
const RULES: Record<string, { may: string[]; types?: string[]; port?: string[] }> = {
  // core reads the version from package.json.
  core: { may: ['package.json'] },
  crds: { may: ['core', 'contracts'] },
  iam: { may: ['core'], types: ['crds'] },
  desired: { may: ['core', 'contracts', 'crds'] },
  kubeconfig: { may: ['core'] },
  kube: { may: ['core', 'kubeconfig'], types: ['crds'] },
  contracts: { may: ['core'] },
  editor: { may: ['core'] },
  adapters: { may: ['core', 'contracts', 'editor'], types: ['crds', 'kube'] },
  controllers: { may: ['core', 'contracts', 'crds', 'iam', 'desired', 'kube', 'adapters'] },
  api: { may: ['core', 'contracts', 'crds', 'iam', 'kube', 'editor'], port: ['adapters'] },
  webhooks: { may: ['core', 'contracts', 'crds', 'iam', 'kube', 'api'] },
  identity: { may: ['core', 'contracts', 'crds', 'kube'] },
  activator: { may: ['core', 'contracts', 'crds'], types: ['kube'] },
  client: { may: [] },
  // `freehold init` prints the Dockerfile of a build.
  cli: { may: ['core', 'contracts', 'client', 'kubeconfig'] },
  composition: {
    may: [
      'config.ts',
      'core',
      'contracts',
      'crds',
      'iam',
      'desired',
      'kube',
      'kubeconfig',
      'adapters',
      'controllers',
      'api',
      'webhooks',
      'identity',
      'activator',
    ],
  },
  'main.ts': { may: ['config.ts', 'core', 'composition', 'api'] },
  'config.ts': { may: ['core', 'config'] },
  config: { may: ['core'] },
}

/**
 * Folders of `src/api` that every area stands on. All others are areas: an area imports base folders and itself, never a
 * neighbour, so that it can be read, changed and removed alone.
 */
const API_BASE_FOLDERS = ['http', 'callers', 'records', 'resources', 'rules', 'people', 'databases']

type Import = { from: string; to: string; file: string; isType: boolean; target: string; statement: string }

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => join(folder, path))
}

/** The first part of the path below `src`, or the path below the root for other files. */
const folderOf = (path: string) => {
  const below = relative(join(root, 'src'), path)
  return below.startsWith('..') ? relative(root, path) : (below.split('/')[0] ?? '')
}

function importsOf(path: string): Import[] {
  const text = readFileSync(path, 'utf8')
  const found = [
    ...text.matchAll(/^(import|export)\s+(type\s)?[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|^import\s+'([^']+)'/gm),
  ]
  return found
    .map((match) => ({
      isType: match[2] !== undefined,
      target: match[3] ?? match[4] ?? match[5] ?? '',
      statement: match[0],
    }))
    .map(({ isType, target, statement }) => ({
      from: relative(root, path),
      to: target.startsWith('.') ? folderOf(resolve(dirname(path), target)) : target,
      file: target.startsWith('.') ? resolve(dirname(path), target) : target,
      isType: isType || /^(import|export)\s+\{(\s*type\s[^,}]+,?)+\s*\}/.test(statement),
      target,
      statement,
    }))
}

function isAllowed(found: Import, folder: string): boolean {
  const rule = RULES[folder]
  if (rule === undefined) return false
  if (found.to === folder || rule.may.includes(found.to)) return true
  if (found.isType && rule.types?.includes(found.to)) return true
  return rule.port?.includes(found.to) === true && (/\/port\.ts$/.test(found.target) || found.isType)
}

/** The folder of `src/api` that contains a module; undefined for its root and for other folders. */
const apiFolderOf = (path: string) => /^src\/api\/([^/]+)\//.exec(relative(root, path))?.[1]
const isArea = (folder: string) => !API_BASE_FOLDERS.includes(folder)

/** Import cycles, each as a list of modules. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (module: string, way: readonly string[]): void => {
    const start = way.indexOf(module)
    if (start >= 0) circles.push([...way.slice(start), module].map((path) => relative(root, path)).join(' -> '))
    if (start >= 0 || done.has(module)) return
    for (const next of graph.get(module) ?? []) visit(next, [...way, module])
    done.add(module)
  }
  for (const module of graph.keys()) visit(module, [])
  return circles
}

describe('imports', () => {
  const modules = sources(join(root, 'src'))
  const imports = modules.flatMap((path) => importsOf(path).map((found) => ({ ...found, folder: folderOf(path) })))

  it('are found', () => {
    expect(modules.length).to.be.greaterThan(60)
    expect(imports.length).to.be.greaterThan(modules.length)
  })

  it('have a rule for every folder', () => {
    expect([...new Set(modules.map(folderOf))].filter((folder) => !(folder in RULES))).to.deep.equal([])
  })

  it('follow the rules of their folder', () => {
    const own = imports.filter((found) => found.target.startsWith('.'))
    const broken = own.filter((found) => !isAllowed(found, found.folder))
    expect(broken.map((found) => `${found.from}: ${found.statement.replaceAll(/\s+/g, ' ')}`)).to.deep.equal([])
  })

  it('have no cycles, types included, in src, scripts and test', () => {
    const others = ['scripts', 'test'].flatMap((folder) => sources(join(root, folder)))
    const graph = new Map([...modules, ...others].map((path) => [path, importsOf(path).map(({ file }) => file)]))
    const edges = [...graph.values()].flat().filter((file) => graph.has(file))
    expect(graph.size).to.be.greaterThan(modules.length + 200)
    expect(edges.length).to.be.greaterThan(2 * graph.size)
    expect(circlesIn(graph)).to.deep.equal([])
  })

  const within = imports.filter(
    ({ target, folder }) => target.startsWith('.') && (folder === 'api' || folder === 'webhooks'),
  )
  const toAreas = within.filter(({ file }) => isArea(apiFolderOf(file) ?? 'http'))

  it('do not lead from a base folder of the facade or the webhooks to an area', () => {
    const folders = new Set(modules.map(apiFolderOf).filter((folder) => folder !== undefined))
    expect([...folders]).to.include.members(API_BASE_FOLDERS)
    const base = modules.filter(
      (path) => API_BASE_FOLDERS.includes(apiFolderOf(path) ?? '') || folderOf(path) === 'webhooks',
    )
    expect(base.length).to.be.greaterThan(70)
    const isBase = new Set(base.map((path) => relative(root, path)))
    const isTable = (file: string) => /^src\/api\/[^/]+$/.test(relative(root, file))
    const broken = within.filter((found) => isBase.has(found.from) && (toAreas.includes(found) || isTable(found.file)))
    expect(broken.map(({ from, target }) => `${from}: ${target}`)).to.deep.equal([])
  })

  it('do not lead from one area of the facade to another', () => {
    const areaOf = (from: string) => apiFolderOf(join(root, from))
    const own = toAreas.filter(({ from, file }) => areaOf(from) === apiFolderOf(file))
    expect(own.length).to.be.greaterThan(100)
    const broken = toAreas.filter(({ from, file }) => (areaOf(from) ?? apiFolderOf(file)) !== apiFolderOf(file))
    expect(broken.map(({ from, target }) => `${from}: ${target}`)).to.deep.equal([])
  })

  it('use the Kubernetes client library in kubeconfig only', () => {
    const broken = imports.filter((found) => found.target.startsWith('@kubernetes/') && found.folder !== 'kubeconfig')
    expect(broken.map((found) => found.from)).to.deep.equal([])
  })

  it('leave process.env to src/main.ts and src/cli/main.ts', () => {
    const readers = modules
      .filter((path) => readFileSync(path, 'utf8').includes('process.env'))
      .map((path) => relative(root, path))
    expect(readers.filter((path) => path !== 'src/main.ts' && path !== 'src/cli/main.ts')).to.deep.equal([])
  })

  it('have no module named utils, helpers, common, manager or data', () => {
    const names = modules.filter((path) =>
      /(^|\/)(utils?|helpers?|common|manager|data)(\.ts|\/)/.test(relative(root, path)),
    )
    expect(names.map((path) => relative(root, path))).to.deep.equal([])
  })
})
