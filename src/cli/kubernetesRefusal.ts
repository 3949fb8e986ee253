import { suggestion } from '../core/suggestion.ts'
import { CommandFailure, EXIT, type ExitCode, exitCodeForStatus } from './failure.ts'
import type { KubernetesAnswer } from './kubernetes.ts'
import { printable } from './output.ts'

export const messageOfAnswer = ({ body }: KubernetesAnswer): string =>
  typeof body.message === 'string' ? body.message : 'it gave no reason'

/** Whether the document has an unknown field. Only the first one is named, and by server-side apply with a 500. */
export const hasUnknownFields = (answer: KubernetesAnswer): boolean =>
  answer.status >= 400 && /field not declared in schema|unknown field "/.test(messageOfAnswer(answer))

/** Server-side apply answers with 500 to a value of the wrong type, although the client is at fault. */
const TYPE_ERROR = /^failed to create typed patch object \([^)]*\): (?:errors:\s*)?([\s\S]*)$/

/** A conflict over fields that others own. Other conflicts concern the object as a whole. */
const CONFLICT = /^Apply failed with /

/** A refusal by a policy, which may depend on more than the object, such as the caller. */
const DENIED = /denied (the )?request/

/** Whether the manifest violates the schema, so that it is refused in any circumstances. */
export const violatesSchema = (answer: KubernetesAnswer): boolean =>
  hasUnknownFields(answer) || TYPE_ERROR.test(messageOfAnswer(answer))

/**
 * Whether a value or a validation rule of the kind was violated. Leaves out what REST treats differently: it fills in
 * required fields, takes null as absent, and writes as another user for policies.
 */
export const violatesRule = (answer: KubernetesAnswer): boolean =>
  answer.status === 422 &&
  / is invalid: /.test(messageOfAnswer(answer)) &&
  !/denied (the )?request|Required value|Invalid value: "null"/.test(messageOfAnswer(answer))

/** Whether the namespace does not exist yet, or has not been claimed yet. */
export const waitsForNamespace = (answer: KubernetesAnswer): boolean =>
  (answer.status === 404 || answer.status === 422) && /namespaces? "|stands only in/.test(messageOfAnswer(answer))

/** An object, with the file and document that contain it. */
type Titled = { readonly location: string; readonly kind: string; readonly name: string | undefined }

/** Returns for example `stdin, document 2: VectorCluster "products"`. */
export const titleOf = ({ kind, name, location }: Titled): string =>
  `${location}: ${kind}${name === undefined ? '' : ` "${name}"`}`

/** Describes a refusal of the API server, and what to do about it. @param fields unknown fields */
export function refusalOf(manifest: Titled, answer: KubernetesAnswer, fields: readonly string[] = []): CommandFailure {
  const [exitCode, ...sentences] = fields.length > 0 ? [EXIT.usage, ...fields] : sentencesOf(answer)
  return failureAbout(titleOf(manifest), sentences, exitCode)
}

/** Formats one sentence after the title, or several below it. */
function failureAbout(title: string, sentences: readonly string[], exitCode: ExitCode): CommandFailure {
  const [first = '', ...others] = sentences
  const lines = others.length === 0 ? [`${title}: ${first}`] : [`${title}:`, ...sentences.map((each) => `  ${each}`)]
  return new CommandFailure(exitCode, lines.map(printable).join('\n'))
}

function sentencesOf(answer: KubernetesAnswer): [ExitCode, ...string[]] {
  const message = messageOfAnswer(answer)
  const text = `${message.replace(/\.$/, '')} (${answer.status} of the API server)`
  const typeErrors = TYPE_ERROR.exec(message)?.[1]
  if (typeErrors !== undefined) {
    const lines = typeErrors.split('\n').map((line) => line.trim().replace(/^\./, ''))
    return [EXIT.usage, ...lines.filter((line) => line !== '').map((line) => `${line}.`)]
  }
  switch (answer.status) {
    case 401:
      return [EXIT.notSignedIn, `the API server does not know you. Sign in again, or name another kubeconfig.`]
    case 403:
      return [EXIT.refused, `${text}. Name a kubeconfig with that right with --kubeconfig.`]
    case 404:
      return [EXIT.refused, `${text}. What contains it must exist first.`]
    case 409:
      if (!CONFLICT.test(message)) return [EXIT.refused, `${text}. It was written or deleted meanwhile: try again.`]
      return [
        EXIT.refused,
        `${text}. Somebody else writes it too: leave the field to them, or apply it with kubectl and --force-conflicts.`,
      ]
    case 429:
      return [EXIT.refused, `the API server is too busy (429): try again in a moment.`]
    case 422:
      return [DENIED.test(message) ? EXIT.refused : EXIT.usage, text]
    default:
      return [hasUnknownFields(answer) ? EXIT.usage : exitCodeForStatus(answer.status), text]
  }
}

/** A kind and the apiVersion that serves it. */
export type ServedKind = { readonly apiVersion: string; readonly kind: string }

/**
 * Explains that a kind is not served, with the apiVersion that has it or a similar kind.
 *
 * @param served all known kinds
 */
export function explainUnknownKind({ apiVersion, kind }: ServedKind, served: readonly ServedKind[]): string {
  const intro = `there is no kind ${kind} in ${apiVersion}`
  const versions = [...new Set(served.filter((each) => each.kind === kind).map((each) => each.apiVersion))]
  if (versions.length > 0) return `${intro}: its apiVersion is ${versions.join(' or ')}.`
  const siblings = served.filter((each) => each.apiVersion === apiVersion).map((each) => each.kind)
  const similar =
    suggestion(kind, siblings) ||
    suggestion(
      kind,
      served.map((each) => each.kind),
    )
  return `${intro}${similar || '.'}`
}
