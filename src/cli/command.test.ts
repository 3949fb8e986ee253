import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { deriveCollections } from './collections.ts'
import { parseCommandLine } from './command.ts'
import { COMMANDS, findCommand } from './commands/index.ts'
import { completionScript, SHELLS } from './completion.ts'
import { helpOf, overview } from './help.ts'
import { parsePairs } from './text.ts'

function read(line: string) {
  const [name = '', ...words] = line.split(' ')
  const input = parseCommandLine(findCommand(name), words)
  return { words: input.positionals, boundary: input.text('boundary'), filters: [...input.all('filter')] }
}

describe('parseCommandLine', () => {
  const good: [string, string, ReturnType<typeof read>][] = [
    ['reads short options', 'list vc -b x', { words: ['vc'], boundary: 'x', filters: [] }],
    ['reads long options with an equals sign', 'list vc --boundary=x', { words: ['vc'], boundary: 'x', filters: [] }],
    ['reads options before positionals', 'list -b x vc', { words: ['vc'], boundary: 'x', filters: [] }],
    ['collects repeated options', 'list vc -f a -f b', { words: ['vc'], boundary: undefined, filters: ['a', 'b'] }],
    ['ends options at two hyphens', 'get vc -- -x', { words: ['vc', '-x'], boundary: undefined, filters: [] }],
    ['reads an option without its optional value', 'setup --dev -b x', { words: [], boundary: 'x', filters: [] }],
    ['requires no positionals with --help', 'delete --help', { words: [], boundary: undefined, filters: [] }],
  ]
  for (const [what, line, expected] of good) it(what, () => expect(read(line)).to.deep.equal(expected))

  const bad: [string, string, RegExp][] = [
    ['rejects an unknown command', 'fly', /no command "fly"/],
    ['rejects an unknown option', 'list vc --all', /--all/],
    ['rejects an option without its value', 'list vc --boundary', /--boundary/],
    ['rejects a value that is not one of the choices', 'list vc -o xml', /table, wide, name, json, yaml, jsonpath=/],
    ['rejects a missing positional', 'delete vc', /^NAME is missing\. Usage: freehold delete KIND NAME/],
    ['rejects a superfluous positional', 'whoami now', /^"now" is one word too many\. Usage: freehold whoami/],
  ]
  for (const [what, line, message] of bad) it(what, () => expect(() => read(line)).to.throw(message))

  it('splits pairs at the first equals sign and rejects an empty name', () => {
    expect(parsePairs('param', ['a=b=c', 'd='])).to.deep.equal([
      ['a', 'b=c'],
      ['d', ''],
    ])
    expect(() => parsePairs('param', ['=x'])).to.throw(/name=value/)
  })
})

describe('help and completion', () => {
  it('list every command and every option', () => {
    const text = overview(COMMANDS)
    for (const command of COMMANDS) {
      expect(text).to.include(`  ${command.name} `)
      for (const option of command.options ?? []) {
        expect(helpOf(command)).to.include(`--${option.long}`)
        if (option.openChoice) expect(helpOf(command)).to.include(`${option.openChoice}=...`)
      }
    }
  })

  for (const shell of SHELLS) {
    it(`offer commands, kinds and options in ${shell}`, () => {
      const script = completionScript(shell, COMMANDS, deriveCollections())
      for (const { name } of COMMANDS) expect(script).to.include(name)
      for (const word of ['vectorclusters', 'boundary', 'output', 'yaml']) expect(script).to.include(word)
    })
  }

  it('offer the names of existing resources in bash', () => {
    const script = completionScript('bash', COMMANDS, deriveCollections())
    const ask = (words: string) =>
      `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _freehold; echo "\${COMPREPLY[*]}"`
    const platform = 'freehold() { [ "$*" = "list vc -o name" ] && printf "products\\nparts\\nother\\n"; }'
    const asked = ['freehold describe vc p', 'freehold call GET p'].map(ask).join('\n')
    const { stdout } = spawnSync('bash', ['-c', `${platform}\n${script}\n${asked}`], { encoding: 'utf8' })
    expect(stdout).to.equal('products parts\n\n')
  })
})

describe('parseCommandLine with a negative number', () => {
  it('reads it as a positional', () => {
    const scale = { name: 'scale', summary: '', positionals: [{ name: 'N' }], run: async () => {} }
    expect(parseCommandLine(scale, ['-1']).positionals).to.deep.equal(['-1'])
  })
})
