import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'

const ROOT = resolve(import.meta.dirname, '../..')

/** Servers that only our own processes on the same machine reach. */
const OWN = ['src/cli/loopback.ts', 'src/kube/tunnel/entry.ts']
/** Admits few unknown clients, and ends each of their connections within a minute. */
const GATE = 'src/composition/agents/gate.ts'

describe('servers of HTTP', () => {
  const servers = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => !path.endsWith('.test.ts') && !OWN.includes(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
    .filter(({ text }) => /^import \{[^}]*\bcreateServer\b[^}]*\} from 'node:https?'$/m.test(text))
  const without = (called: string, exceptions: readonly string[] = []) =>
    servers
      .filter(({ path, text }) => !exceptions.includes(path) && !text.includes(`${called}(`))
      .map(({ path }) => path)

  it('answer the requests of a connection one after the other', () => {
    expect(servers).to.have.length.above(5)
    expect(without('withoutPipelining')).to.deep.equal([])
  })

  it('let no address take all connections', () => {
    expect(without('boundConnections', [GATE])).to.deep.equal([])
  })

  it('end connections whose clients take nothing of their answers', () => {
    expect(without('closeWhenIdle', [GATE])).to.deep.equal([])
  })
})
