import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'

const ROOT = resolve(import.meta.dirname, '../..')

/** Those that only a process of ours reaches, on its own machine. */
const OWN = ['src/cli/loopback.ts', 'src/kube/tunnel/entry.ts']

describe('servers of HTTP', () => {
  it('answer the requests of a connection one after the other', () => {
    const servers = globSync('src/**/*.ts', { cwd: ROOT })
      .filter((path) => !path.endsWith('.test.ts') && !OWN.includes(path))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
      .filter(({ text }) => /^import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'$/m.test(text))
    expect(servers).to.have.length.above(5)
    expect(servers.filter(({ text }) => !/\boneByOne\(/.test(text)).map(({ path }) => path)).to.deep.equal([])
  })
})
