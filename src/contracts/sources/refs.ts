import { INVISIBLE_CHARACTERS } from '../../core/shownText.ts'

/**
 * Rules for names at Git hosts, wherever one comes in: a field of a kind, a body of REST, a delivery of a provider.
 * `impossible` matches invalid names, in JavaScript with the flag u and in RE2, because the API server checks the same.
 */
export type NameRule = {
  readonly impossible: string
  readonly maxLength: number
  /** Follows the name of a field. */
  readonly message: string
}

/**
 * git-check-ref-format(1), and for branches and tags what `git branch` and `git tag` refuse: names that commands would
 * read as an option, or as HEAD. Invisible characters are refused as well, because people are shown these names.
 * `*` and `?` are added where they are not wildcards.
 */
const INVALID_REF = String.raw`^(refs/(heads|tags)/)?(-|@$)|(^|/)(\.|/|$)|\.\.|\.$|\.lock(/|$)|@\{|[ ~^:\[\\${INVISIBLE_CHARACTERS}]`
const GIT_RULE = 'as git check-ref-format allows'
/** No real name is longer, and fields need a limit. */
const MAX_REF_CHARACTERS = 255
const MAX_BRANCH_CHARACTERS = MAX_REF_CHARACTERS - 'refs/heads/'.length

/** As in deliveries: `refs/heads/main`, `refs/tags/v1`. */
export const REF_RULE: NameRule = {
  impossible: `${INVALID_REF}|[*?]`,
  maxLength: MAX_REF_CHARACTERS,
  message: `must be the name of a ref, ${GIT_RULE}`,
}
export const BRANCH_RULE: NameRule = {
  ...REF_RULE,
  maxLength: MAX_BRANCH_CHARACTERS,
  message: `must be the name of a branch, ${GIT_RULE}`,
}
export const BRANCH_OR_TAG_RULE: NameRule = {
  ...BRANCH_RULE,
  message: `must be the name of a branch or a tag, ${GIT_RULE}`,
}
export const BRANCH_PATTERN_RULE: NameRule = {
  impossible: INVALID_REF,
  maxLength: MAX_BRANCH_CHARACTERS,
  message: `${BRANCH_RULE.message}, with * and ? for any characters`,
}

/** A path below the address of a host that cannot lead elsewhere; `%2e` counts as a dot. */
export const REPOSITORY_RULE: NameRule = {
  impossible: String.raw`(^|/)(\.|%2[Ee]){1,2}(/|$)|^/|/$|[ ?#\\${INVISIBLE_CHARACTERS}]`,
  maxLength: 255,
  message: 'must be the full name of a repository, such as acme/shop',
}

export function hasInvalidForm({ impossible }: NameRule, name: string): boolean {
  return new RegExp(impossible, 'u').test(name)
}

export function isValidGitName(rule: NameRule, name: string): boolean {
  return name !== '' && name.length <= rule.maxLength && !hasInvalidForm(rule, name)
}
