import { z } from 'zod'
import { type KeycloakOptions, keycloakAdmin, parseAdminAnswer } from './keycloakAdmin.ts'
import { keycloakFederation } from './keycloakFederation.ts'
import { keycloakOrganizations } from './keycloakOrganizations.ts'
import { keycloakUsers } from './keycloakUsers.ts'
import type { IdentityAdministration, PasswordRules } from './provider.ts'

/** Administers Keycloak through its admin API. */
export function createKeycloakProvider(options: KeycloakOptions): IdentityAdministration {
  const admin = keycloakAdmin(options)
  const organizations = keycloakOrganizations(admin)
  return {
    users: keycloakUsers(admin, organizations),
    federation: keycloakFederation(admin, organizations),
    async passwordRules() {
      const { body } = await admin.call('GET', '')
      return parsePasswordPolicy(
        parseAdminAnswer(z.looseObject({ passwordPolicy: z.string().default('') }), body).passwordPolicy,
      )
    },
  }
}

const RULES = {
  length: 'minLength',
  maxLength: 'maxLength',
  digits: 'minDigits',
  lowerCase: 'minLowerCase',
  upperCase: 'minUpperCase',
  specialChars: 'minSpecialChars',
} as const satisfies Record<string, keyof PasswordRules>
/** The maximum that Keycloak accepts if the policy does not set one. */
const DEFAULT_MAX_LENGTH = 1024

/** Parses Keycloak's form, `length(12) and digits(1) and notEmail`. Keycloak enforces the other rules on its own. */
export function parsePasswordPolicy(policy: string): PasswordRules {
  const rules: PasswordRules = {
    minLength: 0,
    maxLength: DEFAULT_MAX_LENGTH,
    minDigits: 0,
    minLowerCase: 0,
    minUpperCase: 0,
    minSpecialChars: 0,
    allowEmail: !/\bnotEmail\b/.test(policy),
  }
  for (const [, name = '', value = ''] of policy.matchAll(/(\w+)\((\w+)\)/g)) {
    const rule = RULES[name as keyof typeof RULES]
    if (rule !== undefined && /^\d+$/.test(value)) rules[rule] = Number(value)
  }
  return rules
}
