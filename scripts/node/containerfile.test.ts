import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readConfiguration } from '../../src/config.ts'
import { lastStageOf } from './containerfile.ts'

describe('lastStageOf', () => {
  const stage = (...lines: string[]) => lastStageOf(['FROM base', ...lines].join('\n'))

  it('reads the Containerfile of the project', () => {
    expect(lastStageOf(readFileSync('Containerfile', 'utf8'))).to.deep.equal({
      copied: ['node_modules', 'package.json', 'dist', 'src', 'docs'],
      config: {
        WorkingDir: '/app',
        User: '65532:65532',
        ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
        Env: [
          'PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          'PLATFORM_COMMIT=unknown',
          'PLATFORM_BUILT_AT=1970-01-01T00:00:00Z',
        ],
        Entrypoint: ['/nodejs/bin/node', '--max-semi-space-size=8', 'dist/main.mjs'],
      },
    })
  })

  it('passes COMMIT and BUILT_AT to the settings of the process', () => {
    const given = { COMMIT: 'a1b2c3d', BUILT_AT: '2026-11-28T08:00:00Z' }
    const { Env = [] } = lastStageOf(readFileSync('Containerfile', 'utf8'), given).config
    const variables = Object.fromEntries(Env.map((entry) => entry.split('=') as [string, string]))
    const { commit, builtAt } = readConfiguration({ ...variables, PLATFORM_ISSUER: 'https://login.example.com' })
    expect({ commit, builtAt }).to.deep.equal({ commit: given.COMMIT, builtAt: given.BUILT_AT })
  })

  it('knows all arguments that the command in docs/install.md passes', () => {
    const wanted = [...readFileSync('Containerfile', 'utf8').matchAll(/^ARG (\w+)/gm)].map(([, name]) => name)
    const [build = ''] = /^(podman|docker) build .*$/m.exec(readFileSync('docs/install.md', 'utf8')) ?? []
    expect([...build.matchAll(/--build-arg (\w+)=/g)].map(([, name]) => name)).to.deep.equal(wanted)
    expect(wanted).to.have.members(['COMMIT', 'BUILT_AT'])
  })

  it('replaces arguments with their values', () => {
    const text = 'FROM base\nARG COMMIT=unknown\nENV A=$COMMIT B=$OTHER'
    expect(lastStageOf(text, { COMMIT: 'abc' }).config.Env).to.deep.equal(['A=abc', 'B=$OTHER'])
  })

  it('returns the last stage only', () => {
    expect(stage('RUN make', 'FROM other', 'USER 1')).to.deep.equal({ copied: [], config: { User: '1' } })
  })

  for (const [what, line] of [
    ['a RUN instruction', 'RUN make'],
    ['an instruction in lower case', 'user 1'],
    ['a COPY with another name', 'COPY src lib'],
    ['a COPY of several paths', 'COPY src docs ./'],
  ] as const) {
    it(`rejects ${what}`, () => {
      expect(() => stage(line)).to.throw(line)
    })
  }
})
