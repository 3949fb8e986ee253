import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'

const ROOT = resolve(import.meta.dirname, '../..')

/** Servers that only local processes of the platform reach. */
const OWN = ['src/cli/loopback.ts', 'src/kube/tunnel/entry.ts']
/** Admits few unidentified clients, and ends each of their connections within a minute. */
const GATE = 'src/composition/agents/gate.ts'

describe('HTTP servers', () => {
  const servers = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => !path.endsWith('.test.ts') && !OWN.includes(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
    .filter(({ text }) => /^import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'$/m.test(text))
  const without = (called: string, exceptions: readonly string[] = []) =>
    servers
      .filter(({ path, text }) => !exceptions.includes(path) && !text.includes(`${called}(`))
      .map(({ path }) => path)

  it('answer the requests of a connection one after another', () => {
    expect(servers).to.have.length.above(5)
    expect(without('withoutPipelining')).to.deep.equal([])
  })

  it('limit the connections of an address', () => {
    expect(without('boundConnections', [GATE])).to.deep.equal([])
  })

  it('close connections whose clients do not read', () => {
    expect(without('closeWhenIdle', [GATE])).to.deep.equal([])
  })
})
