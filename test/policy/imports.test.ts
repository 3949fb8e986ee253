import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect } from 'chai'

const root = resolve(import.meta.dirname, '../..')

/**
 * Who may import whom (docs/architecture.md). A room that is not listed here may not exist; `types` may be imported with
 * `import type` only; `port` lets a room see the port of an adapter and nothing behind it.
 */
const RULES: Record<string, { may: string[]; types?: string[]; port?: string[] }> = {
  // Of the package it reads the version.
  core: { may: ['package.json'] },
  crds: { may: ['core', 'contracts'] },
  iam: { may: ['core'], types: ['crds'] },
  desired: { may: ['core', 'contracts', 'crds'] },
  kube: { may: ['core'], types: ['crds'] },
  contracts: { may: ['core'] },
  editor: { may: ['core'] },
  adapters: { may: ['core', 'contracts', 'editor'], types: ['crds', 'kube'] },
  controllers: { may: ['core', 'contracts', 'crds', 'iam', 'desired', 'kube', 'adapters'] },
  api: { may: ['core', 'contracts', 'crds', 'iam', 'kube', 'editor'], port: ['adapters'] },
  webhooks: { may: ['core', 'crds', 'iam', 'kube', 'api'] },
  identity: { may: ['core', 'contracts', 'crds', 'kube'] },
  client: { may: [] },
  cli: { may: ['core', 'client'] },
  composition: {
    may: [
      'config.ts',
      'core',
      'contracts',
      'crds',
      'iam',
      'desired',
      'kube',
      'adapters',
      'controllers',
      'api',
      'webhooks',
      'identity',
    ],
  },
  'main.ts': { may: ['config.ts', 'core', 'composition', 'api'] },
  'config.ts': { may: ['core'] },
}

type Import = { from: string; to: string; isType: boolean; target: string; statement: string }

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => join(folder, path))
}

/** The first part of the path below `src`; the path below the root for what is not in it. */
const roomOf = (path: string) => {
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
      to: target.startsWith('.') ? roomOf(resolve(dirname(path), target)) : target,
      isType: isType || /^(import|export)\s+\{(\s*type\s[^,}]+,?)+\s*\}/.test(statement),
      target,
      statement,
    }))
}

function isAllowed(found: Import, room: string): boolean {
  const rule = RULES[room]
  if (rule === undefined) return false
  if (found.to === room || rule.may.includes(found.to)) return true
  if (found.isType && rule.types?.includes(found.to)) return true
  return rule.port?.includes(found.to) === true && (/\/port\.ts$/.test(found.target) || found.isType)
}

describe('import rules', () => {
  const modules = sources(join(root, 'src'))
  const imports = modules.flatMap((path) => importsOf(path).map((found) => ({ ...found, room: roomOf(path) })))

  it('sees the modules and their imports at all', () => {
    expect(modules.length).to.be.greaterThan(60)
    expect(imports.length).to.be.greaterThan(modules.length)
  })

  it('knows every room', () => {
    expect([...new Set(modules.map(roomOf))].filter((room) => !(room in RULES))).to.deep.equal([])
  })

  it('lets each room import only what its line allows', () => {
    const own = imports.filter((found) => found.target.startsWith('.'))
    const broken = own.filter((found) => !isAllowed(found, found.room))
    expect(broken.map((found) => `${found.from}: ${found.statement.replaceAll(/\s+/g, ' ')}`)).to.deep.equal([])
  })

  it('keeps the Kubernetes client library in the kube room', () => {
    const broken = imports.filter((found) => found.target.startsWith('@kubernetes/') && found.room !== 'kube')
    expect(broken.map((found) => found.from)).to.deep.equal([])
  })

  it('lets only the two entries, operator and command line, read the environment', () => {
    const readers = modules
      .filter((path) => readFileSync(path, 'utf8').includes('process.env'))
      .map((path) => relative(root, path))
    expect(readers.filter((path) => path !== 'src/main.ts' && path !== 'src/cli/main.ts')).to.deep.equal([])
  })

  it('has no module without a room of words everyone understands', () => {
    const names = modules.filter((path) =>
      /(^|\/)(utils?|helpers?|common|manager|data)(\.ts|\/)/.test(relative(root, path)),
    )
    expect(names.map((path) => relative(root, path))).to.deep.equal([])
  })
})
