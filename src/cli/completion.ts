import type { Collection } from './collection.ts'
import { type Command, optionsOf } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** Returns the suggestions per position of the command. */
function offersOf(command: Command, commands: readonly Command[], collections: readonly Collection[]): string[][] {
  return (command.positionals ?? []).map(({ offers }) => {
    if (offers === 'kinds') return collections.flatMap(({ noun, singular }) => [noun, singular])
    if (offers === 'commands') return commands.map(({ name }) => name)
    if (offers === 'names') return []
    return offers === undefined ? [] : [...offers]
  })
}

/** Builds a completion script from the commands and collections. All its words are ours, so none needs quoting. */
export function completionScript(
  shell: Shell,
  commands: readonly Command[],
  collections: readonly Collection[],
): string {
  if (shell === 'fish') return fish(commands, collections)
  const script = bash(commands, collections)
  return shell === 'bash' ? script : `#compdef freehold\nautoload -U +X bashcompinit && bashcompinit\n${script}`
}

/** Whether the argument after KIND is the name of an existing resource. */
const takesName = ({ positionals = [] }: Command) => positionals[1]?.offers === 'names'

/** Lists names of the kind before the cursor; nothing if the platform does not answer. */
const NAMES_IN_FISH =
  'set -l words (commandline -opc); test (count $words) -eq 3; and freehold list $words[3] -o name 2>/dev/null'

function bash(commands: readonly Command[], collections: readonly Collection[]): string {
  const cases = commands.map((command) => {
    const flags = optionsOf(command).map(({ long }) => `--${long}`)
    const first = offersOf(command, commands, collections)[0] ?? []
    const values = optionsOf(command)
      .filter(({ choices }) => choices !== undefined)
      .flatMap(({ long, short, choices = [] }) => {
        const words = [`--${long}`, ...(short === undefined ? [] : [`-${short}`])].join('|')
        return `        ${words}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$word")); return ;;`
      })
    return [
      `    ${command.name})`,
      ...(values.length > 0 ? ['      case "$before" in', ...values, '      esac'] : []),
      `      flags="${flags.join(' ')}"`,
      ...(takesName(command) ? ['      named=yes'] : []),
      `      first="${first.join(' ')}" ;;`,
    ].join('\n')
  })
  return `_freehold() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" flags="" first="" named=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *)
      if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W "$first" -- "$word"))
      elif [ "$COMP_CWORD" -eq 3 ] && [ -n "$named" ]; then
        COMPREPLY=($(compgen -W "$(freehold list "\${COMP_WORDS[2]}" -o name 2>/dev/null)" -- "$word"))
      fi ;;
  esac
}
complete -o default -F _freehold freehold
`
}

function fish(commands: readonly Command[], collections: readonly Collection[]): string {
  const quote = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`
  const lines = commands.flatMap((command) => {
    const condition = `-n '__fish_seen_subcommand_from ${command.name}'`
    const first = offersOf(command, commands, collections)[0] ?? []
    return [
      `complete -c freehold -f -n __fish_use_subcommand -a ${command.name} -d ${quote(command.summary)}`,
      ...(first.length > 0 ? [`complete -c freehold -f ${condition} -a ${quote(first.join(' '))}`] : []),
      ...(takesName(command) ? [`complete -c freehold -f ${condition} -a '(${NAMES_IN_FISH})'`] : []),
      ...optionsOf(command).map(({ long, short, value, choices, summary }) => {
        const shortOption = short === undefined ? '' : ` -s ${short}`
        // Options with choices take no file names.
        const needs = value === undefined ? '' : choices === undefined ? ' -r' : ' -x'
        const offers = choices === undefined ? '' : ` -a ${quote(choices.join(' '))}`
        return `complete -c freehold ${condition} -l ${long}${shortOption}${needs}${offers} -d ${quote(summary)}`
      }),
    ]
  })
  return `${lines.join('\n')}\n`
}
