"""propose"""
