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

describe('command lines', () => {
  const good: [string, string, ReturnType<typeof read>][] = [
    ['take short options', 'list vc -b x', { words: ['vc'], boundary: 'x', filters: [] }],
    ['take long options with an equals sign', 'list vc --boundary=x', { words: ['vc'], boundary: 'x', filters: [] }],
    ['take options before words', 'list -b x vc', { words: ['vc'], boundary: 'x', filters: [] }],
    ['collect what may be repeated', 'list vc -f a -f b', { words: ['vc'], boundary: undefined, filters: ['a', 'b'] }],
    ['end options with two hyphens', 'get vc -- -x', { words: ['vc', '-x'], boundary: undefined, filters: [] }],
    ['take an option that may stand alone', 'setup --dev -b x', { words: [], boundary: 'x', filters: [] }],
    ['ask for nothing with --help', 'delete --help', { words: [], boundary: undefined, filters: [] }],
  ]
  for (const [what, line, expected] of good) it(what, () => expect(read(line)).to.deep.equal(expected))

  const bad: [string, string, RegExp][] = [
    ['refuse unknown commands', 'fly', /no command "fly"/],
    ['refuse unknown options', 'list vc --all', /--all/],
    ['refuse an option without its value', 'list vc --boundary', /--boundary/],
    ['refuse a value that is not a choice', 'list vc -o xml', /table, wide, name, json, yaml, jsonpath=/],
    ['refuse too few words', 'delete vc', /^NAME is missing\. Usage: freehold delete KIND NAME/],
    ['refuse too many words', 'whoami now', /^"now" is one word too many\. Usage: freehold whoami/],
  ]
  for (const [what, line, message] of bad) it(what, () => expect(() => read(line)).to.throw(message))

  it('read pairs up to the first equals sign', () => {
    expect(parsePairs('param', ['a=b=c', 'd='])).to.deep.equal([
      ['a', 'b=c'],
      ['d', ''],
    ])
    expect(() => parsePairs('param', ['=x'])).to.throw(/name=value/)
  })
})

describe('help and completion', () => {
  it('name every command and every option', () => {
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
    it(`offers commands, kinds and options in ${shell}`, () => {
      const script = completionScript(shell, COMMANDS, deriveCollections())
      for (const { name } of COMMANDS) expect(script).to.include(name)
      for (const word of ['vectorclusters', 'boundary', 'output', 'yaml']) expect(script).to.include(word)
    })
  }

  it('offers the names of what is there, in bash', () => {
    const script = completionScript('bash', COMMANDS, deriveCollections())
    const ask = (words: string) =>
      `COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _freehold; echo "\${COMPREPLY[*]}"`
    const platform = 'freehold() { [ "$*" = "list vc -o name" ] && printf "products\\nparts\\nother\\n"; }'
    const asked = ['freehold describe vc p', 'freehold call GET p'].map(ask).join('\n')
    const { stdout } = spawnSync('bash', ['-c', `${platform}\n${script}\n${asked}`], { encoding: 'utf8' })
    expect(stdout).to.equal('products parts\n\n')
  })
})

describe('negative numbers', () => {
  it('are words, for the command to judge', () => {
    const scale = { name: 'scale', summary: '', positionals: [{ name: 'N' }], run: async () => {} }
    expect(parseCommandLine(scale, ['-1']).positionals).to.deep.equal(['-1'])
  })
})
