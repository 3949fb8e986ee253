import { z } from 'zod'
import {
  BRANCH_OR_TAG_RULE,
  BRANCH_PATTERN_RULE,
  BRANCH_RULE,
  hasInvalidForm,
  type NameRule,
  REPOSITORY_RULE,
} from '../contracts/sources/refs.ts'
import { matching, withCelRules } from './fields.ts'

/** Names at Git hosts: a field accepts what deliveries may contain, so that every pushed branch can be deployed. */

function named(rule: NameRule): z.ZodString {
  return withCelRules(z.string().min(1).max(rule.maxLength), {
    // An empty text is refused by its minimum length.
    cel: `self == '' || !self.matches(r'${rule.impossible}')`,
    message: rule.message,
    test: (name) => name === '' || !hasInvalidForm(rule, name),
  })
}

export const BranchName = named(BRANCH_RULE)
export const BranchOrTag = named(BRANCH_OR_TAG_RULE)
export const BranchPattern = named(BRANCH_PATTERN_RULE)
export const RepositoryName = named(REPOSITORY_RULE)

export const CommitSha = matching(64, /^[0-9a-f]{7,64}$/, 'must be a commit hash of 7 to 64 hexadecimal digits')
