import { suggestion } from '../../core/suggestion.ts'
import type { Command } from '../command.ts'
import { completionScript, SHELLS, type Shell } from '../completion.ts'
import { usage } from '../failure.ts'
import { helpOf, overview } from '../help.ts'
import { events, rotate } from './activity.ts'
import { apply } from './apply.ts'
import { call } from './call.ts'
import { cancel } from './cancel.ts'
import { check } from './check.ts'
import { deploy } from './deploy.ts'
import { env, open, rollback } from './deployed.ts'
import { describe } from './describe.ts'
import { diff } from './diff.ts'
import { init } from './init.ts'
import { invoke } from './invoke.ts'
import { invitation, password } from './joining.ts'
import { kinds } from './kinds.ts'
import { kubeconfig } from './kubeconfig.ts'
import { login, logout, token, whoami } from './login.ts'
import { namespaces } from './namespaces.ts'
import { create, get, list, remove } from './resources.ts'
import { setup } from './setup.ts'
import { logs, read } from './subresources.ts'
import { use } from './use.ts'
import { version } from './version.ts'
import { powerCommands, scale, wait, watch } from './waiting.ts'

const completion: Command = {
  name: 'completion',
  summary: 'Print a completion script for a shell',
  positionals: [{ name: 'SHELL', offers: SHELLS }],
  details:
    'bash: source <(freehold completion bash)\nzsh:  source <(freehold completion zsh)\nfish: freehold completion fish | source',
  async run({ positionals: [shell = ''] }, { collections, terminal }) {
    if (!(SHELLS as readonly string[]).includes(shell)) throw usage(`SHELL must be one of ${SHELLS.join(', ')}.`)
    terminal.out(completionScript(shell as Shell, COMMANDS, collections))
  },
}

const help: Command = {
  name: 'help',
  summary: 'Show what there is, or the help of one command',
  positionals: [{ name: 'COMMAND', isOptional: true, offers: 'commands' }],
  async run({ positionals: [name] }, { terminal }) {
    const command = name === undefined ? undefined : findCommand(name)
    terminal.out(command === undefined ? overview(COMMANDS) : helpOf(command))
  },
}

/** All commands. Help and completion are derived from this list. */
export const COMMANDS: readonly Command[] = [
  setup,
  use,
  login,
  logout,
  invitation,
  password,
  whoami,
  token,
  kubeconfig,
  kinds,
  list,
  get,
  create,
  apply,
  diff,
  namespaces,
  describe,
  events,
  read,
  logs,
  invoke,
  wait,
  watch,
  scale,
  ...powerCommands,
  cancel,
  rotate,
  remove,
  init,
  deploy,
  open,
  rollback,
  env,
  call,
  check,
  completion,
  version,
  help,
]

/** @throws CommandFailure (usage) */
export function findCommand(name: string): Command {
  const command = COMMANDS.find((entry) => entry.name === name)
  if (command === undefined) {
    const meant = suggestion(
      name,
      COMMANDS.map((entry) => entry.name),
    )
    throw usage(`There is no command "${name}"${meant || '; `freehold help` lists them.'}`)
  }
  return command
}
