"""A face in OpenAI's form: a bot changes its base_url, and its model remembers.

Before the model is asked, `POST /context`; afterwards, `POST /turns`. Neither can make a chat fail.
"""
